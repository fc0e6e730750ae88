// The contiguous part of n things that a worker takes: sizes differ by at most one, and every thing is taken once.
#pragma once

#include <cstdint>

#include "shardwise/kernel/kernel.h"

namespace shardwise::kernel {

struct Part {
  int64_t first, end;
  int64_t size() const { return end - first; }
};

inline Part part_of(int64_t n, Share share) {
  return {n * share.worker / share.workers, n * (share.worker + 1) / share.workers};
}

}  // namespace shardwise::kernel
