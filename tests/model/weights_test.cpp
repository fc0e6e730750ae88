// What ranks hold of real models: cutting weights or layers in two halves them, but for what both ranks must have.
#include <algorithm>

#include "tests/model/real_models.h"

namespace shardwise {
namespace {

constexpr double kHalf = 0.55;  // 9 heads on 2 ranks are 5 and 4; layers and ends of a model are not equally large

class Weights : public OnRealModel, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { open(GetParam()); }

  std::vector<int64_t> bytes(const char* plan) const {
    const auto engine = start(plan, 1, 1);
    return engine ? engine->weight_bytes() : std::vector<int64_t>{0};
  }
};

TEST_P(Weights, OfOneRankAreThoseOfTheFile) {
  int64_t stored = 0;
  for (const TensorInfo& t : model_->file.tensors()) stored += t.bytes;
  EXPECT_NEAR(double(bytes("none")[0]), double(stored), 0.01 * double(stored));
}

TEST_P(Weights, AreHalvedByTwoRanks) {
  const auto whole = double(bytes("none")[0]);
  ASSERT_GT(whole, 0);
  const auto tp = bytes("tp=2");
  ASSERT_EQ(tp.size(), 2u);
  EXPECT_LE(double(*std::max_element(tp.begin(), tp.end())), kHalf* whole) << "tp=2";

  // Where the output is tied, the last stage has the embedding as well as the first.
  const TensorInfo* embedding = model_->file.tensor(model_->spec.embedding.name);
  ASSERT_NE(embedding, nullptr);
  const double twice = model_->spec.tied() ? double(embedding->bytes) : 0;
  const auto pp = bytes("pp=2");
  ASSERT_EQ(pp.size(), 2u);
  EXPECT_LE(double(*std::max_element(pp.begin(), pp.end())), kHalf*(whole - twice) + twice) << "pp=2";
}

INSTANTIATE_TEST_SUITE_P(Models, Weights, testing::ValuesIn(kRealModels),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace shardwise
