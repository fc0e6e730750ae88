// Tiny models of every family, in both formats, against logits on which two other implementations agree
// (make_models.py). A cut model must give the bits of the whole one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "shardwise/engine/generate.h"

namespace shardwise {
namespace {

const std::filesystem::path kModels = SHARDWISE_SOURCE_DIR "/tests/golden/models";
constexpr double kTolerance = 1e-4;  // of the largest logit

struct Golden {
  std::vector<int> prompt, positions, greedy;
  std::vector<std::vector<float>> logits;  // by position
};

Golden read_golden(const std::string& name) {
  std::ifstream in(kModels / name / "golden.json");
  const auto j = nlohmann::json::parse(in);
  return {j["prompt"], j["positions"], j["greedy"], j["logits"]};
}

class GoldenModels : public testing::TestWithParam<const char*> {
 protected:
  // A folder, or its GGUF twin, holds the same weights.
  void expect_golden(const std::filesystem::path& path) {
    golden_ = read_golden(GetParam());
    ASSERT_EQ(golden_.positions.size(), golden_.logits.size());
    const auto file = ModelFile::open(path.string());
    ASSERT_TRUE(file) << file.error().what;
    const auto spec = read_spec(*file);
    ASSERT_TRUE(spec) << spec.error().what;
    for (const char* plan : {"none", "tp=2", "cp=2", "pp=2"}) {
      SCOPED_TRACE(path.filename().string() + " under " + plan);
      expect_golden(*file, *spec, plan);
    }
  }

 private:
  void expect_golden(const ModelFile& file, const ModelSpec& spec, const char* plan) {
    EngineOptions options;
    options.plan = *parse_plan(plan);
    options.cache = CacheFormat::F32;
    options.context = int64_t(golden_.prompt.size() + golden_.greedy.size());
    const auto engine = Engine::start(file, spec, std::move(options));
    ASSERT_TRUE(engine) << engine.error().what;
    const auto job = (*engine)->submit({{0, golden_.prompt, int64_t(golden_.prompt.size())}});
    (*engine)->wait(*job);
    ASSERT_EQ(job->logits.size(), golden_.prompt.size() * size_t(spec.vocab));
    expect_near(job->logits, size_t(spec.vocab));
    if (one_rank_.empty()) one_rank_ = job->logits;
    EXPECT_EQ(job->logits, one_rank_) << "a plan must not change a bit";

    (*engine)->truncate(0, 0);
    Request request;
    request.prompt = golden_.prompt, request.max_tokens = int(golden_.greedy.size());
    const auto generation = generate(**engine, {request});
    ASSERT_TRUE(generation) << generation.error().what;
    EXPECT_EQ(generation->answers[0].tokens, golden_.greedy);
  }

  void expect_near(const std::vector<float>& found, size_t vocabulary) const {
    double worst = 0, largest = 0;
    for (size_t p = 0; p < golden_.positions.size(); ++p) {
      ASSERT_EQ(golden_.logits[p].size(), vocabulary);
      const float* row = found.data() + size_t(golden_.positions[p]) * vocabulary;
      for (size_t i = 0; i < vocabulary; ++i) {
        ASSERT_TRUE(std::isfinite(row[i])) << "position " << golden_.positions[p] << ", token " << i;
        worst = std::max(worst, std::fabs(double(row[i]) - double(golden_.logits[p][i])));
        largest = std::max(largest, std::fabs(double(golden_.logits[p][i])));
      }
    }
    EXPECT_LT(worst, kTolerance * largest);
  }

  Golden golden_;
  std::vector<float> one_rank_;
};

TEST_P(GoldenModels, SafetensorsGiveTheLogits) { expect_golden(kModels / GetParam()); }

using GoldenTwins = GoldenModels;

TEST_P(GoldenTwins, GgufGivesTheLogits) { expect_golden(kModels / (std::string(GetParam()) + ".gguf")); }

constexpr const char* kNames[] = {"llama", "llama_tied", "llama_llama3", "llama_yarn", "qwen2",
                                  "qwen3", "gemma3",     "phi3",         "olmo2"};
constexpr const char* kTwins[] = {"llama", "llama_llama3", "llama_yarn", "qwen2", "gemma3", "phi3"};

INSTANTIATE_TEST_SUITE_P(Families, GoldenModels, testing::ValuesIn(kNames),
                         [](const auto& model) { return std::string(model.param); });
INSTANTIATE_TEST_SUITE_P(Families, GoldenTwins, testing::ValuesIn(kTwins),
                         [](const auto& model) { return std::string(model.param); });

TEST(GoldenFiles, AreAllTested) {
  std::set<std::string> expected(std::begin(kNames), std::end(kNames)), found;
  for (const char* twin : kTwins) expected.insert(std::string(twin) + ".gguf");
  for (const auto& entry : std::filesystem::directory_iterator(kModels)) found.insert(entry.path().filename().string());
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace shardwise
