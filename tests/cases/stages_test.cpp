// Layers over stages: each layer on one of them, the same bits, and an output matrix that is the embedding's.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cases/crafted_model.h"
#include "tests/cases/session.h"

namespace shardwise {
namespace {

TEST(Stages, B10_EveryLayerHasOneStage) {
  for (int layers = 1; layers <= 64; ++layers)
    for (int stages = 1; stages <= 8; ++stages) {
      const std::vector<int> even(size_t(stages), 1);
      int64_t next = 0, least = layers, most = 0;
      for (int i = 0; i < stages; ++i) {
        const Range r = part({0, layers}, 1, even, i);
        ASSERT_EQ(r.begin, next) << layers << " layers, stage " << i << " of " << stages;
        next = r.end(), least = std::min(least, r.size), most = std::max(most, r.size);
      }
      ASSERT_EQ(next, layers);
      ASSERT_LE(most - least, 1) << layers << " layers, " << stages << " stages";
      const auto plan = parse_plan("pp=" + std::to_string(stages));
      for (int layer = 0; layer < layers; ++layer) {
        const Range r = part({0, layers}, 1, even, plan->stage(layer, layers));
        ASSERT_TRUE(layer >= r.begin && layer < r.end()) << layer << " of " << layers;
      }
    }
}

void expect_same_bits(const OpenModel& model, const std::vector<const char*>& plans) {
  const auto ids = random_ids(40, model.spec.vocab, 9);
  const auto right = Session(model, "none").fresh(ids, 37);
  for (const char* plan : plans) EXPECT_EQ(difference(right, Session(model, plan).fresh(ids, 37)), 0) << plan;
}

TEST(Stages, B10_ModelsGiveTheSameBits) {
  const ScratchFolder folder;
  expect_same_bits(open_random_model({.layers = 7}, folder.file("7.gguf")),
                   {"pp=1", "pp=2", "pp=3", "pp=5", "pp=8", "pp=3(1,4,2)", "pp=2(7,0)", "pp=3(0,3,4)"});
  expect_same_bits(open_random_model({.layers = 10}, folder.file("10.gguf")), {"pp=3", "pp=4", "pp=3(2,3,5)"});
}

TEST(Stages, B10_SplitsThatLoseLayersAreRefused) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 7}, folder.file("m.gguf"));
  for (const char* text : {"pp=3(2,2,2)", "pp=2(4,4)", "pp=2,tp=2; L:pp(7,7) K:tp"}) {
    EngineOptions options;
    options.plan = *parse_plan(text);
    const auto engine = Engine::start(model.file, model.spec, options);
    ASSERT_FALSE(engine) << text;
    EXPECT_THAT(engine.error().what, testing::HasSubstr("the model has 7")) << text;
  }
}

const std::vector<const char*> kTiedPlans = {"pp=2", "pp=4", "pp=2,tp=2", "tp=2,pp=2", "tp=4", "pp=2,cp=2"};

TEST(Stages, B11_ATiedOutputIsOnTheLastStage) {
  const ScratchFolder folder;
  expect_same_bits(open_random_model({.layers = 4, .tied = true}, folder.file("m.gguf")), kTiedPlans);
}

TEST(Stages, B11_AnOutputOfItsOwn) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 4, .tied = false}, folder.file("m.gguf"));
  const OpenModel tied = open_random_model({.layers = 4, .tied = true}, folder.file("tied.gguf"));
  expect_same_bits(model, kTiedPlans);
  const auto ids = random_ids(5, 256, 9);
  EXPECT_GT(difference(Session(model, "pp=2").fresh(ids), Session(tied, "pp=2").fresh(ids)), 0.01);
}

// Whoever has both ends has the matrix once; two ends have it twice.
TEST(Stages, B11_OneRankStoresItOnce) {
  const ScratchFolder folder;
  const OpenModel tied = open_random_model({.layers = 4, .tied = true}, folder.file("tied.gguf"));
  const OpenModel untied = open_random_model({.layers = 4}, folder.file("untied.gguf"));
  const int64_t matrix = 256 * 64 * 4;
  auto bytes = [](const OpenModel& model, const char* plan) { return Session(model, plan).engine().weight_bytes(); };
  EXPECT_EQ(bytes(untied, "none")[0] - bytes(tied, "none")[0], matrix);
  EXPECT_EQ(bytes(untied, "tp=4")[2] - bytes(tied, "tp=4")[2], matrix / 4);
  EXPECT_EQ(bytes(untied, "pp=4"), bytes(tied, "pp=4"));
  const auto stages = bytes(tied, "pp=4");
  EXPECT_EQ(stages[0] - stages[1], matrix);
  EXPECT_EQ(stages[3] - stages[2], matrix + 64 * 4);  // and the last norm
}

TEST(Stages, B11_AnOutputThatTheFileLacksIsRefused) {
  const ScratchFolder folder;
  CraftedModel m({.layers = 2, .tied = true});
  std::filesystem::create_directories(folder.file("m"));
  EXPECT_NO_THROW(m.open_hugging_face(folder.file("m"), {{"model_type", "llama"}}));
  try {
    m.open_hugging_face(folder.file("n"), {{"model_type", "llama"}, {"tie_word_embeddings", false}});
    FAIL() << "not refused";
  } catch (const std::runtime_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("lm_head.weight is missing"));
  }
}

}  // namespace
}  // namespace shardwise
