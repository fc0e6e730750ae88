// Causal work is balanced: whatever the length of a prompt, no rank sees many more (token, row) pairs than the mean.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "shardwise/engine/arrange.h"
#include "shardwise/engine/engine.h"

namespace shardwise {
namespace {

// Pairs that each of the ranges of T sees, by the order that the engine would give the tokens of a batch.
std::vector<double> pairs(const std::string& text, const BatchShape& asked) {
  const Plan plan = *parse_plan(text);
  const BatchShape shape = in_units(asked, plan);
  Extent tokens{Dim::T, 0, shape.unit};
  for (const auto& c : shape.chunks) tokens.sequences.push_back(tokens.size), tokens.size += c.tokens;
  const Layout cuts = plan.layout({.name = "q", .shape = {tokens}});
  const auto order =
      arrange(asked, shape, {plan.mesh, tokens, cuts, {}}, cuts, std::vector<int>(asked.chunks.size(), -1));
  EXPECT_TRUE(order);

  std::vector<double> seen;
  for (int rank = 0; rank < plan.mesh.ranks(); ++rank) {
    const Range r = range(tokens, cuts, plan.mesh, rank);
    seen.push_back(0);
    for (int64_t place = r.begin; place < r.end(); ++place) {
      const int64_t token = (*order)[size_t(place)];
      const auto slot = size_t(std::upper_bound(tokens.sequences.begin(), tokens.sequences.end(), token) -
                               tokens.sequences.begin() - 1);
      const int64_t position = shape.chunks[slot].past + token - tokens.sequences[slot];
      const auto& [past, count, wanted] = asked.chunks[slot];
      if (position >= past && position < past + count) seen.back() += double(position + 1);
    }
  }
  return seen;
}

double mean(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / double(v.size()); }

// The most that a rank sees, in parts of the mean.
double skew(const std::vector<double>& seen) { return *std::max_element(seen.begin(), seen.end()) / mean(seen); }

class Balance : public testing::TestWithParam<int> {};

// Work is shared out by pages of 16 tokens: with less than three a rank no order may be even, with less than two the
// last page alone may be more than a share.
TEST_P(Balance, NoRankSeesMoreThanATenthAboveTheMean) {
  const int n = GetParam();
  for (int64_t prompt = 64; prompt <= 1024; ++prompt) {
    const auto seen = pairs(fmt::format("cp={}", n), {{{0, prompt, 1}}});
    EXPECT_DOUBLE_EQ(mean(seen) * n, double(prompt) * double(prompt + 1) / 2);  // every pair is seen once
    const double last_page = 16.0 * (double(prompt) - 7.5) / mean(seen);
    const double most = prompt >= 48 * n ? 1.1 : prompt >= 32 * n ? 1.15 : std::max(1.15, last_page);
    EXPECT_LE(skew(seen), most) << prompt << " on " << n;
  }
}

TEST_P(Balance, HoldsForATurnOnACachedContext) {
  const int n = GetParam();
  for (const int64_t past : {1, 100, 777})
    for (int64_t turn = 48 * n; turn <= 512; turn += 37)
      EXPECT_LE(skew(pairs(fmt::format("cp={}", n), {{{past, turn, 1}}})), 1.1)
          << turn << " after " << past << " on " << n;
}

TEST_P(Balance, HoldsForARaggedBatch) {
  const int n = GetParam();
  EXPECT_LE(skew(pairs(fmt::format("cp={}", n), {{{0, 300, 1}, {512, 1, 1}, {0, 70, 1}, {40, 200, 1}}})), 1.1);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Balance, testing::Values(2, 3, 4), testing::PrintToStringParamName());

TEST(BalanceByWeight, WorkFollowsTheWeights) {
  const auto seen = pairs("cp=2(1,3)", {{{0, 1024, 1}}});
  EXPECT_NEAR(seen[1] / seen[0], 3, 0.1);
}

TEST(BalanceByWeight, TheOrderIsAPermutation) {
  const BatchShape asked{{{0, 300, 1}, {30, 50, 1}}};
  const Plan plan = *parse_plan("dp=2,cp=3");
  const BatchShape shape = in_units(asked, plan);
  Extent tokens{Dim::T, 0, shape.unit};
  for (const auto& c : shape.chunks) tokens.sequences.push_back(tokens.size), tokens.size += c.tokens;
  const Layout cuts = plan.layout({.name = "q", .shape = {tokens}});
  auto order = *arrange(asked, shape, {plan.mesh, tokens, cuts, {}}, cuts, {-1, -1});
  for (int64_t place = 0; place < tokens.sequences[1]; ++place)  // a cut by sequence finds each in its place
    EXPECT_LT(order[size_t(place)], tokens.sequences[1]);
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < tokens.size; ++i) EXPECT_EQ(order[size_t(i)], i);
}

}  // namespace
}  // namespace shardwise
