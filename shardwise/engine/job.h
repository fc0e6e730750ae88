// One step as every rank sees it: the tokens in the order the program cuts them, and where their rows lie in the cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "shardwise/comm/team.h"
#include "shardwise/kernel/kernel.h"
#include "shardwise/program/program.h"

namespace shardwise {

// The rows of one part of the cache (the ranks that hold the same rows) that a step reads, and where it stores new
// ones. A snapshot: later steps may be prepared while this one runs.
struct PartView {
  std::vector<int32_t> pages;      // by sequence slot, in the order they were filled
  std::vector<int32_t> positions;  // kPageRows for each of `pages`; kFreeRow where nothing is stored
  std::vector<int32_t> begin;      // of each slot in `pages`, and the end: slots + 1
  struct Place {
    int32_t page = -1, row = 0;  // -1: not stored in this part
  };
  std::vector<Place> places;  // by token of the step
};

struct CompiledStep;

struct Job {
  std::shared_ptr<CompiledStep> step;          // null: the ranks end
  std::vector<int32_t> ids, positions, slots;  // by token, in program order
  std::vector<int32_t> wanted;                 // tokens whose logits are asked for, by slot
  std::vector<PartView> parts;
  std::vector<float> logits;                 // [wanted, vocabulary], written by the ranks that end with them
  bool measure = false;                      // keep the seconds of each step of rank 0 .. n-1 in `seconds`
  std::vector<std::vector<double>> seconds;  // by rank and program step
  std::atomic<int> missing{0};               // ranks that are not done
  Signal done;
};

}  // namespace shardwise
