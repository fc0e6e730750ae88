// Logits of a whole window would not fit for large vocabularies: scored tokens go through in small chunks.
#include "shardwise/engine/perplexity.h"

#include <algorithm>
#include <cmath>

#include "shardwise/base/check.h"
#include "shardwise/engine/generate.h"

namespace shardwise {
namespace {

constexpr int64_t kScoredAtOnce = 64;  // tokens whose logits are held together

// Sum of the negative log probabilities of the second half of a window.
double score(Engine& engine, const std::vector<int>& window) {
  const auto n = int64_t(window.size()), first = n / 2;
  const auto vocabulary = size_t(engine.spec().vocab);
  double nll = 0;
  engine.truncate(0, 0);
  for (int64_t at = 0; at < n - 1;) {
    const bool scored = at >= first;
    const int64_t size = scored ? std::min(kScoredAtOnce, n - 1 - at) : std::min(kPrefillTokens, first - at);
    const auto job = engine.submit({{0, {window.begin() + at, window.begin() + at + size}, scored ? size : 0}});
    engine.wait(*job);
    for (int64_t i = 0; scored && i < size; ++i)
      nll -= logprob(std::span(job->logits).subspan(size_t(i) * vocabulary, vocabulary), window[size_t(at + i + 1)]);
    at += size;
  }
  return nll;
}

}  // namespace

int64_t window_count(int64_t ids, int64_t context, int64_t most) {
  const int64_t all = ids / context;
  return most > 0 ? std::min(all, most) : all;
}

Perplexity perplexity(Engine& engine, const std::vector<int>& ids, int64_t context, int64_t windows, int bos,
                      const std::function<void(double)>& progress) {
  CHECK(windows > 0 && windows * context <= int64_t(ids.size()), "{} windows of {} in {} ids", windows, context,
        ids.size());
  double nll = 0;
  for (int64_t w = 0; w < windows; ++w) {
    std::vector<int> window(ids.begin() + w * context, ids.begin() + (w + 1) * context);
    if (bos >= 0) window[0] = bos;
    nll += score(engine, window);
    if (progress) progress(double(w + 1) / double(windows));
  }
  const int64_t scored = windows * (context - context / 2 - 1);
  return {std::exp(nll / double(scored)), windows, scored};
}

}  // namespace shardwise
