// Sequences cut over ranks: no token is lost, none is seen twice, and windows stay where they are.
#include <gmock/gmock.h>

#include "tests/cases/crafted_model.h"
#include "tests/cases/session.h"

namespace shardwise {
namespace {

const std::vector<std::string> kForms = {":gather", ":ring", ":ulysses", ""};

// Plans that cut tokens and cache over `ranks`.
std::vector<std::string> cuts_of_tokens(int ranks) {
  if (ranks == 1) return {"none"};
  std::vector<std::string> plans;
  for (const std::string& form : kForms) plans.push_back("cp=" + std::to_string(ranks) + form);
  return plans;
}

OpenModel probe(const ScratchFolder& folder, int64_t window = 0) {
  return uniform_probe(
             {.d_model = 32, .heads = 8, .kv_heads = 2, .head_size = 4, .d_ff = 32, .vocab = 64, .window = window})
      .open_gguf(folder.file("probe.gguf"));
}

// What the answers at all positions must be.
std::vector<double> means(const std::vector<int>& ids, size_t window) {
  std::vector<double> all;
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t first = window > 0 && i + 1 > window ? i + 1 - window : 0;
    double sum = 0;
    for (size_t j = first; j <= i; ++j) sum += ids[j];
    all.push_back(sum / double(i + 1 - first));
  }
  return all;
}

std::vector<double> probed(const std::vector<float>& logits, size_t vocab = 64) {
  std::vector<double> all;
  for (size_t at = 0; at < logits.size(); at += vocab) all.push_back(probed_mean(std::span(logits).subspan(at, vocab)));
  return all;
}

testing::Matcher<std::vector<double>> near(const std::vector<double>& values) {
  return testing::Pointwise(testing::DoubleNear(1e-4), values);
}

std::vector<int> counting(int n) {
  std::vector<int> ids;
  for (int i = 0; i < n; ++i) ids.push_back(i);
  return ids;
}

TEST(Sequence, B07_SevenTokensOnTwoRanks) {
  const ScratchFolder folder;
  const OpenModel model = probe(folder);
  for (const std::string& plan : cuts_of_tokens(2))
    for (const int64_t unit : {1, 16}) {
      const auto out = probed(Session(model, plan, {.unit = unit}).fresh({1, 1, 1, 1, 2, 2, 2}));
      ASSERT_EQ(out.size(), 7U);
      EXPECT_NEAR(out[6], 10.0 / 7, 1e-5) << plan;
      EXPECT_NEAR(out[3], 1, 1e-5) << plan;
    }
}

TEST(Sequence, B07_EveryTokenCountsWhateverTheLength) {
  const ScratchFolder folder;
  const OpenModel model = probe(folder);
  const std::vector<int> ids = random_ids(33, 64, 4);
  const std::vector<double> right = means(ids, 0);
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (const std::string& plan : cuts_of_tokens(ranks))
      for (const int64_t unit : {1, 16}) {
        Session session(model, plan, {.unit = unit});
        for (std::ptrdiff_t n = 1; n <= 33; ++n)
          ASSERT_THAT(probed(session.fresh({ids.begin(), ids.begin() + n})), near({right.begin(), right.begin() + n}))
              << plan << ", " << n << " tokens in units of " << unit;
      }
}

TEST(Sequence, B07_ModelsAnswerTheSameWhateverTheLength) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({}, folder.file("m.gguf"));
  const std::vector<int> ids = random_ids(33, 256, 5);
  Session one(model, "none");
  const auto right = one.fresh(ids);
  for (int ranks = 2; ranks <= 8; ++ranks)
    for (const int64_t unit : {1, 16}) {
      const std::string plan = cuts_of_tokens(ranks)[size_t(ranks) % kForms.size()];
      Session session(model, plan, {.unit = unit});
      for (std::ptrdiff_t n = 1; n <= 33; ++n) {
        const double off =
            difference({right.begin(), right.begin() + n * 256}, session.fresh({ids.begin(), ids.begin() + n}));
        ASSERT_LE(off, unit == 1 ? 1e-4 : 0) << plan << ", " << n << " tokens in units of " << unit;
      }
    }
}

// Fewer tokens than ranks, then 20 more one by one.
TEST(Sequence, B08_RanksWithoutTokens) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({}, folder.file("m.gguf"));
  const std::vector<int> ids = random_ids(23, 256, 6);
  for (const auto& sizes : {std::pair<int, std::ptrdiff_t>{4, 3}, {8, 1}}) {
    const int ranks = sizes.first;
    const std::ptrdiff_t first = sizes.second;
    auto course = [&](Session session) {
      auto all = session.fresh({ids.begin(), ids.begin() + first});
      for (std::ptrdiff_t i = first; i < first + 20; ++i)
        for (float x : session.add(0, {ids[size_t(i)]})) all.push_back(x);
      return all;
    };
    const auto right = course(Session(model, "none"));
    ASSERT_EQ(difference(right, right), 0) << "not finite";
    for (const std::string& plan : cuts_of_tokens(ranks)) {
      EXPECT_LE(difference(right, course(Session(model, plan, {.unit = 1}))), 1e-4) << plan;
      EXPECT_EQ(difference(right, course(Session(model, plan))), 0) << plan;
    }
  }
}

// Windows that cross one border between ranks, and two: 12 tokens on 3 ranks, v = position.
TEST(Sequence, B16_WindowsAcrossRanks) {
  for (const int64_t window : {4, 6, 9}) {
    const ScratchFolder folder;
    const OpenModel model = probe(folder, window);
    for (const int ranks : {1, 2, 3, 4, 6})
      for (const std::string& plan : cuts_of_tokens(ranks)) {
        const auto out = probed(Session(model, plan, {.unit = 1}).fresh(counting(12)));
        ASSERT_THAT(out, near(means(counting(12), size_t(window)))) << plan << ", window " << window;
        if (window != 4) continue;
        EXPECT_NEAR(out[11], 9.5, 1e-4);
        EXPECT_NEAR(out[4], 2.5, 1e-4);
      }
  }
}

TEST(Sequence, B16_WindowsAcrossRanksInWholePages) {
  for (const int64_t window : {4, 17, 33}) {
    const ScratchFolder folder;
    const OpenModel model = probe(folder, window);
    for (const int ranks : {2, 3})
      for (const std::string& plan : cuts_of_tokens(ranks))
        EXPECT_THAT(probed(Session(model, plan).fresh(counting(64), 50)), near(means(counting(64), size_t(window))))
            << plan << ", window " << window;
  }
}

const RandomModel kLocalAndGlobal{
    .architecture = "gemma3", .layers = 6, .tied = true, .head_norms = true, .window = 16};

TEST(Sequence, B16_LocalAndGlobalLayers) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model(kLocalAndGlobal, folder.file("m.gguf"));
  const std::vector<int> ids = random_ids(90, 256, 7);
  const auto right = Session(model, "none").fresh(ids, 70);
  for (const int ranks : {2, 3})
    for (const std::string& plan : cuts_of_tokens(ranks)) {
      EXPECT_EQ(difference(right, Session(model, plan).fresh(ids, 70)), 0) << plan;
      EXPECT_LE(difference(right, Session(model, plan, {.unit = 1}).fresh(ids, 70)), 1e-4) << plan;
    }
}

// Prompts shorter than the window, as long, and longer, by every route.
TEST(Sequence, B17_TheWindowsEdge) {
  const ScratchFolder folder;
  const OpenModel model = probe(folder, 4);
  for (const char* plan : {"none", "tp=2", "cp=2", "cp=3:ring", "cp=2:ulysses"})
    for (const int64_t unit : {1, 16}) {
      Session session(model, plan, {.unit = unit});
      for (int prompt : {3, 4, 5}) {
        auto out = probed(session.fresh(counting(prompt)));
        for (int id = prompt; id < prompt + 6; ++id) out.push_back(probed(session.add(0, {id}))[0]);
        ASSERT_THAT(out, near(means(counting(prompt + 6), 4))) << plan << ", prompt " << prompt;
      }
      for (size_t chunk : {1, 3, 5, 6}) {
        const auto out = probed(session.fresh(counting(6), chunk));
        ASSERT_THAT(out, near(means(counting(6), 4))) << plan << ", chunk " << chunk;
        EXPECT_NEAR(out[3], 1.5, 1e-4);
        EXPECT_NEAR(out[4], 2.5, 1e-4);
        EXPECT_NEAR(out[5], 3.5, 1e-4);
      }
    }
}

TEST(Sequence, B17_TokenByTokenEqualsOneShotAtTheWindowsEdge) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model(kLocalAndGlobal, folder.file("m.gguf"));
  const std::vector<int> ids = random_ids(33, 256, 8);
  for (const char* plan : {"none", "cp=2", "tp=2"}) {
    Session session(model, plan);
    for (std::ptrdiff_t n : {15, 16, 17, 31, 32, 33}) {
      const std::vector<int> prompt(ids.begin(), ids.begin() + n);
      EXPECT_EQ(difference(session.fresh(prompt), session.fresh(prompt, 1)), 0) << plan << ", " << n << " tokens";
    }
  }
}

}  // namespace
}  // namespace shardwise
