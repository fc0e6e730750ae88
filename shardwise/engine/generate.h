// Answers for a batch of prompts: prefill in chunks, then one token a sequence and step, until each is done.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "shardwise/engine/engine.h"
#include "shardwise/engine/sampler.h"

namespace shardwise {

struct Request {
  std::vector<int> prompt;  // at least one token
  int max_tokens = 0;
  SamplingOptions sampling = {};
  std::vector<int> stops = {};  // ids that end the answer; not part of it
  int logprobs = 0;             // most likely tokens to report for each step
};

struct Answer {
  std::vector<int> tokens;
  std::vector<float> margins;  // for each token the difference between the two largest logits
  std::vector<float> logprobs;
  std::vector<std::vector<TokenChance>> most_likely;
  std::string finish;  // "stop", "length" or "cancelled"
  uint64_t logits_hash = 0;
};

struct GenerationTimes {
  double ttft_s = 0;          // until every sequence had its first token
  double decode_s = 0;        // from there to the end
  int64_t prompt_tokens = 0;  // computed, of all sequences
  int64_t decode_tokens = 0;  // later ones, of all sequences
  double comm_share = 0;      // of the ranks' time, spent in collectives and transfers, waiting included; when measured

  double tpot_s(int sequences) const { return decode_tokens > 0 ? decode_s * sequences / double(decode_tokens) : 0; }
  double prefill_tps() const { return ttft_s > 0 ? double(prompt_tokens) / ttft_s : 0; }
  double decode_tps() const { return decode_s > 0 ? double(decode_tokens) / decode_s : 0; }
};

struct GenerationOptions {
  std::function<void(int sequence, int id)> on_token = {};
  std::function<void(int64_t done, int64_t all)> on_prefill = {};  // tokens of the prompts
  const std::atomic<bool>* cancel = nullptr;
  bool measure = false;  // fill comm_share
};

// One request a slot, from slot 0 on; what the slots hold already is the beginning of the sequences, and stays. Errors:
// a request that does not fit the context, ids outside the vocabulary, options out of range; found before anything
// runs.
struct Generation {
  std::vector<Answer> answers;
  GenerationTimes times;
};
Result<Generation> generate(Engine&, const std::vector<Request>&, const GenerationOptions& = {});

// Tokens of a prefill chunk of one step.
inline constexpr int64_t kPrefillTokens = 512;

}  // namespace shardwise
