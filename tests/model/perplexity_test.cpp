// Perplexity of real models on a text that Debian systems carry, against llama.cpp's figures for the same files.
#include "shardwise/engine/perplexity.h"

#include <fstream>
#include <iterator>

#include "tests/model/real_models.h"

namespace shardwise {
namespace {

constexpr const char* kText = "/usr/share/common-licenses/GPL-3";
constexpr int64_t kContext = 512;

struct Case {
  const char* model;
  double expected;  // over six windows
};

class PerplexityOf : public OnRealModel, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    std::ifstream in(kText, std::ios::binary);
    if (!in) GTEST_SKIP() << kText << " is not on this system";
    open(GetParam().model);
    if (!model_) return;
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    ids_ = model_->tokenizer.with_ends(model_->tokenizer.encode(text, true));
    ASSERT_GE(window_count(int64_t(ids_.size()), kContext), 6);
  }

  Perplexity measure(const char* plan, int64_t windows) const {
    const auto engine = start(plan, 1, kContext);
    if (!engine) return {};
    const int bos = ids_[0] == model_->tokenizer.bos() ? ids_[0] : -1;
    return perplexity(*engine, ids_, kContext, windows, bos);
  }

  std::vector<int> ids_;
};

TEST_P(PerplexityOf, ALicenseIsThatOfLlamaCpp) {
  const Perplexity p = measure("none", 6);
  EXPECT_NEAR(p.value, GetParam().expected, 0.01 * GetParam().expected);
  EXPECT_EQ(p.scored_tokens, 6 * 255);
}

TEST_P(PerplexityOf, ALicenseIsTheSameUnderEveryWay) {
  const double one_rank = measure("none", 1).value;
  ASSERT_GT(one_rank, 1);
  for (const char* plan : {"tp=2", "cp=2", "pp=2"}) EXPECT_EQ(measure(plan, 1).value, one_rank) << plan;
}

INSTANTIATE_TEST_SUITE_P(Models, PerplexityOf,
                         testing::Values(Case{"smollm2", 18.09}, Case{"gemma3", 14.55}, Case{"qwen05", 5.82}),
                         [](const auto& c) { return std::string(c.param.model); });

}  // namespace
}  // namespace shardwise
