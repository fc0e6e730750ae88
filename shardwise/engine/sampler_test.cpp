// From logits to tokens: what each option keeps, and that draws depend on seed and step alone.
#include "shardwise/engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace shardwise {
namespace {

const std::vector<float> kLogits = {1, 3, 2, 3, -5, 0};

std::map<int, int> draws(SamplingOptions o, int n = 4000) {
  std::map<int, int> counts;
  Sampler sampler(o);
  for (int i = 0; i < n; ++i) ++counts[sampler.next(kLogits, {})];
  return counts;
}

TEST(Sampler, GreedyTakesTheFirstOfEqualLogits) {
  Sampler sampler({});
  EXPECT_EQ(sampler.next(kLogits, {}), 1);
}

TEST(Sampler, TopKKeepsTheMostLikely) {
  const auto counts = draws({.temperature = 1, .top_k = 2});
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_GT(counts.at(1), 1800);
  EXPECT_GT(counts.at(3), 1800);
}

TEST(Sampler, TopPKeepsAtLeastOne) {
  EXPECT_EQ(draws({.temperature = 1, .top_p = 1e-6}).size(), 1U);
  const auto counts = draws({.temperature = 1, .top_p = 0.7});  // two of 0.38 each reach 0.7
  EXPECT_EQ(counts.size(), 2U);
}

TEST(Sampler, MinPDropsWhatIsFarBelowTheBest) {
  const auto counts = draws({.temperature = 1, .min_p = 0.3});  // e^-1 = 0.37 stays, e^-2 = 0.14 goes
  EXPECT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts.count(0), 0U);
}

TEST(Sampler, FrequenciesFollowTheTemperature) {
  const int n = 40000;
  const auto counts = draws({.temperature = 0.5}, n);
  double total = 0;
  for (float x : kLogits) total += std::exp(double(x) / 0.5);
  for (const auto& [id, count] : counts)
    EXPECT_NEAR(count / double(n), std::exp(double(kLogits[size_t(id)]) / 0.5) / total, 0.01);
}

TEST(Sampler, PenaltyMakesSeenTokensLessLikely) {
  Sampler sampler({.repeat_penalty = 2});
  const std::vector<int> history = {1, 3};  // 3 becomes 1.5
  EXPECT_EQ(sampler.next(kLogits, history), 2);
  Sampler forgetful({.repeat_penalty = 2, .repeat_last = 1});
  EXPECT_EQ(forgetful.next(kLogits, history), 1);
}

TEST(Sampler, TheSameSeedGivesTheSameDraws) {
  const SamplingOptions o{.temperature = 1, .seed = 42};
  Sampler a(o), b(o), other({.temperature = 1, .seed = 43});
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    const int token = a.next(kLogits, {});
    EXPECT_EQ(token, b.next(kLogits, {}));
    differ += token != other.next(kLogits, {});
  }
  EXPECT_GT(differ, 20);
}

TEST(Sampler, RefusesOptionsOutOfRangeByName) {
  EXPECT_TRUE(check_sampling({}));
  const std::pair<SamplingOptions, const char*> bad[] = {{{.temperature = -1}, "temperature"},
                                                         {{.temperature = NAN}, "temperature"},
                                                         {{.top_k = -5}, "top-k"},
                                                         {{.top_p = 0}, "top-p"},
                                                         {{.min_p = 1}, "min-p"},
                                                         {{.repeat_penalty = 0}, "penalty"}};
  for (const auto& [options, name] : bad) {
    const Status s = check_sampling(options);
    ASSERT_FALSE(s) << name;
    EXPECT_NE(s.error().what.find(name), std::string::npos) << s.error().what;
  }
}

TEST(Logprobs, AreOverTheWholeVocabulary) {
  double sum = 0;
  for (const TokenChance& c : most_likely(kLogits, 100)) sum += std::exp(double(c.logprob));
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(most_likely(kLogits, 3)[2].id, 2);
  EXPECT_FLOAT_EQ(margin(kLogits), 0);
  EXPECT_NEAR(logprob(kLogits, 2) - logprob(kLogits, 0), 1, 1e-6);
}

}  // namespace
}  // namespace shardwise
