// Sampling works on the few candidates that its options leave; greedy never sorts the vocabulary.
#include "shardwise/engine/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

struct Candidate {
  int id;
  float logit;
};

bool likelier(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

double log_sum(std::span<const float> logits) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float x : logits) sum += std::exp(double(x - top));
  return top + std::log(sum);
}

// SplitMix64, Steele, Lea and Flood 2014.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void penalise(std::vector<Candidate>& all, std::span<const int> history, const SamplingOptions& o) {
  if (o.repeat_penalty == 1) return;
  const auto last = history.last(std::min(history.size(), size_t(o.repeat_last)));
  std::vector<int> seen(last.begin(), last.end());
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (int id : seen) {
    float& x = all[size_t(id)].logit;
    x = x > 0 ? float(x / o.repeat_penalty) : float(x * o.repeat_penalty);
  }
}

// Keeps the most likely candidates, in order; chances are those of the whole list.
void cut(std::vector<Candidate>& all, const SamplingOptions& o) {
  if (o.top_k > 0 && size_t(o.top_k) < all.size()) {
    std::partial_sort(all.begin(), all.begin() + o.top_k, all.end(), likelier);
    all.resize(size_t(o.top_k));
  } else {
    std::sort(all.begin(), all.end(), likelier);
  }
  double total = 0;
  for (const Candidate& c : all) total += std::exp(double(c.logit - all[0].logit));
  size_t keep = 0;
  for (double sum = 0; keep < all.size(); ++keep) {
    const double chance = std::exp(double(all[keep].logit - all[0].logit));
    if (keep > 0 && (sum >= o.top_p * total || chance < o.min_p)) break;
    sum += chance;
  }
  all.resize(keep);
}

}  // namespace

Status check_sampling(const SamplingOptions& o) {
  if (!(o.temperature >= 0 && o.temperature <= 100)) return fail("temperature is {}, expected 0 to 100", o.temperature);
  if (o.top_k < 0) return fail("top-k is {}, expected 0 (all) or more", o.top_k);
  if (!(o.top_p > 0 && o.top_p <= 1)) return fail("top-p is {}, expected more than 0 and at most 1", o.top_p);
  if (!(o.min_p >= 0 && o.min_p < 1)) return fail("min-p is {}, expected 0 to less than 1", o.min_p);
  if (!(o.repeat_penalty > 0 && o.repeat_penalty <= 100))
    return fail("repetition penalty is {}, expected more than 0", o.repeat_penalty);
  if (o.repeat_last < 0) return fail("the penalty looks back {} tokens, expected 0 or more", o.repeat_last);
  return {};
}

double Sampler::draw() { return double(mix(options_.seed ^ mix(step_)) >> 11) * 0x1p-53; }

int Sampler::next(std::span<const float> logits, std::span<const int> history) {
  CHECK(!logits.empty(), "no logits");
  ++step_;
  if (options_.temperature == 0 && options_.repeat_penalty == 1)
    return int(std::max_element(logits.begin(), logits.end()) - logits.begin());
  std::vector<Candidate> all(logits.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = {int(i), logits[i]};
  penalise(all, history, options_);
  if (options_.temperature == 0) return std::min_element(all.begin(), all.end(), likelier)->id;
  cut(all, options_);
  std::vector<double> chances;
  for (const Candidate& c : all) chances.push_back(std::exp(double(c.logit - all[0].logit) / options_.temperature));
  double left = draw() * std::accumulate(chances.begin(), chances.end(), 0.0);
  for (size_t i = 0; i < all.size(); ++i)
    if ((left -= chances[i]) < 0) return all[i].id;
  return all[0].id;
}

std::vector<TokenChance> most_likely(std::span<const float> logits, int n) {
  std::vector<Candidate> all(logits.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = {int(i), logits[i]};
  const size_t count = std::min(all.size(), size_t(std::max(n, 0)));
  std::partial_sort(all.begin(), all.begin() + std::ptrdiff_t(count), all.end(), likelier);
  const double whole = log_sum(logits);
  std::vector<TokenChance> chances;
  for (size_t i = 0; i < count; ++i) chances.push_back({all[i].id, float(all[i].logit - whole)});
  return chances;
}

float logprob(std::span<const float> logits, int id) { return float(logits[size_t(id)] - log_sum(logits)); }

float margin(std::span<const float> logits) {
  float first = -INFINITY, second = -INFINITY;
  for (float x : logits) {
    second = std::max(second, std::min(first, x));
    first = std::max(first, x);
  }
  return first - second;
}

uint64_t hash_logits(std::span<const float> logits, uint64_t before) {
  for (float x : logits) before = (before ^ std::bit_cast<uint32_t>(x)) * 0x100000001b3u;  // FNV-1a, by words
  return before;
}

}  // namespace shardwise
