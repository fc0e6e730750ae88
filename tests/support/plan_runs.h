// Runs a model under a plan and gives all logits of a fixed course of steps: prefill, decode, a turn on a cached
// context.
#pragma once

#include <string>
#include <vector>

#include "shardwise/engine/engine.h"
#include "tests/support/random_model.h"

namespace shardwise {

// Sanitized tests take ten times as long: they do less.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

struct Course {
  int sequences = 1;
  // Steps: for each, tokens of each sequence (0: none). Ids follow from sequence and position.
  std::vector<std::vector<int>> steps;
  int64_t unit = kernel::kPageRows;
  int threads = 1;
  CacheFormat cache = CacheFormat::F32;
};

int token_at(int sequence, int64_t position, int64_t vocab);

// Logits of every token of every step; nothing, and a failed test, when the plan is refused.
std::vector<std::vector<float>> run_course(const OpenModel&, const std::string& plan, const Course&);

// The largest difference, in parts of the largest logit; infinite for anything that is not finite.
double difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b);

}  // namespace shardwise
