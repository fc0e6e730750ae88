// What ranks add up is counted once: biases of row-cut matrices, squares of norms over all heads, large activations.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/cases/crafted_model.h"
#include "tests/cases/session.h"

namespace shardwise {
namespace {

// Every plan gives the bits of one rank, over a prompt and some steps.
void expect_same_result(const OpenModel& model, const std::vector<const char*>& plans) {
  const auto ids = random_ids(40, model.spec.vocab, 3);
  const auto truth = Session(model, "none").fresh(ids, 37);
  ASSERT_EQ(difference(truth, truth), 0) << "not finite";
  for (const char* plan : plans) EXPECT_EQ(difference(truth, Session(model, plan).fresh(ids, 37)), 0) << plan;
}

// The down projection gets x = [1,2,3,4]: gate gives 30, up gives x/30, both by their biases. Element 3 of the stream
// holds 10, against which the head's three sums are told.
TEST(Sums, B04_ABiasAfterASumIsAddedOnce) {
  RandomModel sizes{.layers = 1, .d_model = 8, .heads = 4, .kv_heads = 4, .head_size = 2, .d_ff = 4, .vocab = 8};
  sizes.biases = true;
  CraftedModel m(sizes);
  for (auto& [name, t] : m.tensors) m.fill(name, name.find("norm") == std::string::npos ? 0 : 1);
  m.at("token_embd.weight", 0, 3) = 10;
  m.fill("blk.0.ffn_gate.bias", 30);
  for (int64_t i = 0; i < 4; ++i) {
    m.floats("blk.0.ffn_up.bias")[size_t(i)] = float(i + 1) / 30;
    m.at("output.weight", i, i) = 1;
    for (int64_t row = 0; row < 3; ++row) m.at("blk.0.ffn_down.weight", row, i) = float(row + 1);
  }
  for (size_t row = 0; row < 3; ++row) m.floats("blk.0.ffn_down.bias")[row] = float(10 * (row + 1));
  const ScratchFolder folder;
  const OpenModel model = m.open_gguf(folder.file("m.gguf"));
  for (const char* plan : {"none", "tp=2", "tp=4"}) {
    const auto logits = Session(model, plan).fresh({0});
    for (size_t row = 0; row < 3; ++row)
      EXPECT_NEAR(10 * logits[row] / logits[3], 20.0 * double(row + 1), 1e-3) << plan;
  }
}

TEST(Sums, B04_AModelWithBiasesEverywhere) {
  const ScratchFolder folder;
  expect_same_result(open_random_model({.biases = true}, folder.file("m.gguf")),
                     {"tp=2", "tp=4", "tp=8", "tp=3", "cp=2", "pp=2,tp=2"});
}

TEST(Sums, B04_BiasesAreCutWithTheirRows) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.biases = true}, folder.file("m.gguf"));
  const OpenModel bare = open_random_model({}, folder.file("bare.gguf"));
  const auto with = Session(model, "tp=4").engine().weight_bytes();
  const auto without = Session(bare, "tp=4").engine().weight_bytes();
  const int64_t of_rank = 2 * (2 * 8 + 8 + 8 + 32 + 32), whole = 2 * (64 + 64);  // q, k, v, gate, up; o, down
  for (size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(with[rank] - without[rank], (of_rank + whole) * 4);
}

// Two heads of two elements; the token asks with q = [3,4,0,0] for the token before it, whose k is [1,0,0,0] and whose
// v is 1, while its own k and v are 0. The weight of that v, softmax of (score, 0), tells what q was normalised to.
TEST(Sums, B05_TheNormIsOverTheHeadsOfAllRanks) {
  RandomModel sizes{.architecture = "olmo2", .layers = 1, .d_model = 8, .heads = 2, .kv_heads = 2, .head_size = 2};
  sizes.d_ff = 8, sizes.vocab = 4, sizes.full_norms = true;
  CraftedModel m(sizes);
  m.norm_eps = 1e-12F;
  for (auto& [name, t] : m.tensors) m.fill(name, name.find("norm") == std::string::npos ? 0 : 1);
  m.at("token_embd.weight", 0, 0) = 1;                                    // id 0: the token before
  m.at("token_embd.weight", 1, 1) = 1;                                    // id 1: the one that asks
  m.at("token_embd.weight", 0, 2) = m.at("token_embd.weight", 1, 2) = 1;  // all: a 1 to compare with
  m.at("blk.0.attn_q.weight", 0, 1) = 3, m.at("blk.0.attn_q.weight", 1, 1) = 4;
  m.at("blk.0.attn_k.weight", 0, 0) = 1;
  m.at("blk.0.attn_v.weight", 0, 0) = 1, m.at("blk.0.attn_v.weight", 1, 2) = 1;
  m.at("blk.0.attn_output.weight", 3, 0) = m.at("blk.0.attn_output.weight", 4, 1) = 1;
  m.at("output.weight", 0, 3) = m.at("output.weight", 1, 4) = 1;
  const ScratchFolder folder;
  const OpenModel model = m.open_gguf(folder.file("m.gguf"));
  const double q0 = 1.2 * std::cos(1.0) - 1.6 * std::sin(1.0);  // element 0 of q, turned by position 1
  const double k0 = 2;                                          // [1,0,0,0] over its root mean square, 1/2
  const double weight = 1 / (1 + std::exp(-q0 * k0 / std::sqrt(2.0)));
  for (const char* plan : {"none", "tp=2", "tp=4", "cp=2"}) {
    Session session(model, plan);
    const auto logits = session.last(session.fresh({0, 1}));
    EXPECT_NEAR(logits[0] / logits[1], weight, 1e-5) << plan;
  }
}

TEST(Sums, B05_AModelWithNormsOverAllHeads) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.architecture = "olmo2", .full_norms = true}, folder.file("m.gguf"));
  expect_same_result(model, {"tp=2", "tp=4", "tp=8", "tp=3", "cp=2,tp=2"});
}

// An activation beyond the range of f16, in front of weights that an f16 product would meet.
TEST(Sums, S13_LargeActivationsStayFinite) {
  for (const DType type : {DType::F32, DType::F16, DType::Q8_0, DType::Q4_1}) {
    RandomModel sizes{.heads = 4, .kv_heads = 2, .head_size = 32, .type = type, .biases = true};
    CraftedModel m(sizes);
    m.floats("blk.0.ffn_gate.bias")[5] = 1000, m.floats("blk.0.ffn_up.bias")[5] = 70;
    m.floats("blk.1.ffn_gate.bias")[70] = -3, m.floats("blk.1.ffn_up.bias")[70] = 5e5F;
    const ScratchFolder folder;
    SCOPED_TRACE(info(type).name);
    expect_same_result(m.open_gguf(folder.file("m.gguf")), {"tp=2", "tp=4", "cp=2", "pp=2"});
  }
}

}  // namespace
}  // namespace shardwise
