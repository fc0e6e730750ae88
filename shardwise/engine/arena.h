// Where each value of a program lies in a rank's memory: values that live at the same time never share bytes, others
// do.
#pragma once

#include <vector>

#include "shardwise/program/program.h"

namespace shardwise {

struct ArenaPlan {
  std::vector<int64_t> offset;  // bytes, by value; -1: not in the arena (weights, rows of the cache, other stages)
  int64_t bytes = 0;
};

// By liveness over the program, first fit. Output works in place: what it makes is what it reads.
ArenaPlan plan_arena(const Program&, int rank);

}  // namespace shardwise
