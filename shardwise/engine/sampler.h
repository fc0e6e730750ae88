// From logits to a token. One sampler decides for all ranks; its draws depend on the seed and the step alone, so the
// same seed gives the same text under every plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shardwise/base/result.h"

namespace shardwise {

struct SamplingOptions {
  double temperature = 0;  // 0: greedy
  int top_k = 0;           // 0: all
  double top_p = 1;        // 1: all
  double min_p = 0;        // 0: all; else of the most likely token's probability
  double repeat_penalty =
      1;                 // 1: none; divides the positive logits of tokens already there, multiplies the negative ones
  int repeat_last = 64;  // tokens that the penalty looks back on
  uint64_t seed = 0;
};

// Names the first option that is out of its range.
Status check_sampling(const SamplingOptions&);

struct TokenChance {
  int id;
  float logprob;  // natural log of its probability, before any option is applied
};

class Sampler {
 public:
  explicit Sampler(SamplingOptions options) : options_(options) {}

  // The next token. `history`: the tokens of the sequence so far. Options apply in the order penalty, top-k, top-p,
  // min-p, temperature. Equal logits go to the smaller id.
  int next(std::span<const float> logits, std::span<const int> history);

 private:
  double draw();

  SamplingOptions options_;
  uint64_t step_ = 0;
};

// The `n` most likely tokens, most likely first.
std::vector<TokenChance> most_likely(std::span<const float> logits, int n);
float logprob(std::span<const float> logits, int id);

// Difference between the two largest logits: how sure greedy is, beside the rounding of a sum.
float margin(std::span<const float> logits);

// A hash of the bits of logits, to tell whether two runs computed the very same.
uint64_t hash_logits(std::span<const float> logits, uint64_t before = 0xcbf29ce484222325u);

}  // namespace shardwise
