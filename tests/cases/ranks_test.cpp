// Ranks agree on each token, none waits for ever, and none holds more than its share.
#include <gmock/gmock.h>

#include <numeric>
#include <set>

#include "tests/cases/session.h"

namespace shardwise {
namespace {

TEST(Ranks, B22_OneDrawForAllRanks) {
  const WallLimit limit(std::chrono::seconds(60));
  const ScratchFolder folder;
  const OpenModel model = open_random_model({}, folder.file("m.gguf"));
  for (const uint64_t seed : {0, 1}) {
    const Request request{.prompt = {1, 2, 3}, .max_tokens = 500, .sampling = {.temperature = 1, .seed = seed}};
    const Answer truth = Session(model, "none", {.context = 512}).answer(request);
    ASSERT_EQ(truth.tokens.size(), 500U);
    ASSERT_GT(std::set<int>(truth.tokens.begin(), truth.tokens.end()).size(), 50U) << "that is not sampling";
    for (const char* plan : {"tp=2", "tp=4", "pp=2,tp=2"}) {
      const Answer answer = Session(model, plan, {.context = 512}).answer(request);
      EXPECT_EQ(answer.tokens, truth.tokens) << plan << ", seed " << seed;
      EXPECT_EQ(answer.logits_hash, truth.logits_hash) << plan << ", seed " << seed;
    }
  }
}

TEST(Ranks, B22_AllStopAtTheSameToken) {
  const WallLimit limit(std::chrono::seconds(60));
  const ScratchFolder folder;
  const OpenModel model = open_random_model({}, folder.file("m.gguf"));
  Request request{.prompt = {1, 2, 3}, .max_tokens = 100, .sampling = {.temperature = 1, .seed = 1}};
  const Answer open_end = Session(model, "none").answer(request);
  request.stops = {open_end.tokens[40]};
  const auto first = std::find(open_end.tokens.begin(), open_end.tokens.end(), request.stops[0]);
  for (const char* plan : {"none", "tp=2", "pp=2,tp=2", "cp=2"}) {
    Session session(model, plan);
    const Answer answer = session.answer(request);
    EXPECT_EQ(answer.finish, "stop") << plan;
    EXPECT_EQ(answer.tokens, std::vector<int>(open_end.tokens.begin(), first)) << plan;
    EXPECT_EQ(session.answer(request).tokens, answer.tokens) << plan << ": the next request";
  }
}

// Requests in one batch, which stages take in groups, draw as each would alone.
TEST(Ranks, B22_DrawsDependOnSeedAndStepAlone) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 3}, folder.file("m.gguf"));
  std::vector<Request> requests;
  for (unsigned s = 0; s < 3; ++s)
    requests.push_back({.prompt = random_ids(5 + 7 * s, 256, s),
                        .max_tokens = 20 + int(s),
                        .sampling = {.temperature = 0.8, .top_k = 40, .top_p = 0.9, .seed = s / 2}});
  for (const char* plan : {"none", "tp=2", "pp=3", "dp=2", "pp=2,dp=2"}) {
    Session together(model, plan, {.sequences = 3});
    const auto generated = generate(together.engine(), requests);
    ASSERT_TRUE(generated) << generated.error().what;
    for (size_t i = 0; i < requests.size(); ++i) {
      const Answer alone = Session(model, "none").answer(requests[i]);
      EXPECT_EQ(generated->answers[i].tokens, alone.tokens) << plan << ", request " << i;
      EXPECT_EQ(generated->answers[i].logits_hash, alone.logits_hash) << plan << ", request " << i;
    }
  }
}

TEST(Ranks, S01_NoMixOfPlansHangs) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 3}, folder.file("m.gguf"));
  const Request request{.prompt = random_ids(45, 256, 14), .max_tokens = 20};
  const Answer truth = Session(model, "none").answer(request);
  const char* const forms[] = {"", ":ring", ":ulysses", ":gather"};
  int plans = 0;
  for (int pp = 1; pp <= 8; ++pp)
    for (int cp = 1; pp * cp <= 8; ++cp)
      for (int tp = 1; pp * cp * tp <= 8; ++tp) {
        const std::string plan =
            "pp=" + std::to_string(pp) + ",cp=" + std::to_string(cp) + forms[plans++ % 4] + ",tp=" + std::to_string(tp);
        SCOPED_TRACE(plan);
        const WallLimit limit(std::chrono::seconds(30));
        const Answer answer = Session(model, plan).answer(request);
        EXPECT_EQ(answer.tokens, truth.tokens);
        EXPECT_EQ(answer.logits_hash, truth.logits_hash);
      }
  EXPECT_EQ(plans, 38);
}

TEST(Ranks, S07_RanksHoldTheirShare) {
  for (const DType type : {DType::F32, DType::F16, DType::Q8_0, DType::Q4_1}) {
    const ScratchFolder folder;
    const OpenModel model = open_random_model(
        {.d_model = 256, .heads = 8, .kv_heads = 4, .head_size = 32, .d_ff = 1024, .vocab = 1000, .type = type},
        folder.file("m.gguf"));
    const auto file = double(model.file.file_bytes());
    for (const char* plan : {"none", "tp=2", "tp=4", "pp=2", "pp=2,tp=2"}) {
      const auto bytes = Session(model, plan).engine().weight_bytes();
      const double sum = std::accumulate(bytes.begin(), bytes.end(), 0.0);
      EXPECT_LE(sum, 1.1 * file) << plan << ", " << info(type).name;
      EXPECT_GE(sum, 0.95 * file) << plan << ", " << info(type).name;
      if (std::string(plan) != "tp=4") continue;
      EXPECT_LE(*std::max_element(bytes.begin(), bytes.end()), 1.1 * sum / 4) << info(type).name;
    }
  }
}

}  // namespace
}  // namespace shardwise
