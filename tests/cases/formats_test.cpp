// One model in each of the ways that files keep its rows: the answers are the same.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cases/crafted_model.h"
#include "tests/cases/program_parts.h"
#include "tests/cases/session.h"

namespace shardwise {
namespace {

// Row i of a file of the llama family is row of_llama(i) of one whose rotary pairs lie half a head apart.
int64_t of_llama(int64_t i, int64_t head_size) {
  const int64_t in_head = i % head_size;
  return i - in_head + in_head / 2 + in_head % 2 * (head_size / 2);
}

// T(2,64,4,2,8,96,200) with biases of q, k and v, as qwen2 keeps it.
RandomModel four_heads(DType type) {
  return {.architecture = "qwen2", .heads = 4, .d_ff = 96, .vocab = 200, .type = type};
}

// The same, its rows of q and k paired as the llama family has them.
CraftedModel interleaved(CraftedModel m) {
  m.sizes.architecture = "llama";
  for (auto& [name, t] : m.tensors)
    for (const char* part : {".attn_q.", ".attn_k."})
      if (name.find(part) != std::string::npos)
        m.reorder_rows(name, [&](int64_t i) { return of_llama(i, m.sizes.head_size); });
  return m;
}

TEST(Formats, B13_RowsOfALlamaFile) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < 16; ++i) order.push_back(of_llama(i, 8));
  EXPECT_THAT(order, testing::ElementsAre(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
}

TEST(Formats, B13_OneModelInThreeFiles) {
  const CraftedModel m(four_heads(DType::F32));
  const ScratchFolder folder;
  const OpenModel halves = m.open_gguf(folder.file("qwen2.gguf"));
  const OpenModel pairs = interleaved(m).open_gguf(folder.file("llama.gguf"));
  const OpenModel safetensors = m.open_hugging_face(folder.file("llama"), {{"model_type", "llama"}});
  EXPECT_EQ(safetensors.file.format(), ModelFile::Format::Safetensors);
  const auto ids = random_ids(40, 200, 10);
  const auto right = Session(halves, "none").fresh(ids, 37);
  for (const char* plan : {"none", "tp=2", "tp=4", "cp=2"}) {
    EXPECT_LE(difference(right, Session(pairs, plan).fresh(ids, 37)), 1e-5) << plan;
    EXPECT_EQ(difference(right, Session(safetensors, plan).fresh(ids, 37)), 0) << plan;
    EXPECT_EQ(difference(right, Session(halves, plan).fresh(ids, 37)), 0) << plan;
  }
}

TEST(Formats, B13_RowsMoveWhole) {
  const CraftedModel m(four_heads(DType::Q8_0));
  const ScratchFolder folder;
  const OpenModel halves = m.open_gguf(folder.file("qwen2.gguf"));
  const OpenModel pairs = interleaved(m).open_gguf(folder.file("llama.gguf"));
  const auto ids = random_ids(40, 200, 10);
  for (const char* plan : {"none", "tp=2"})
    EXPECT_LE(difference(Session(halves, plan).fresh(ids, 37), Session(pairs, plan).fresh(ids, 37)), 1e-3) << plan;
}

// Puts tensors one below the other, and the parts away.
void fuse(CraftedModel& m, const std::string& to, const std::vector<std::string>& parts) {
  CraftedTensor all = m.tensors.at(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    const CraftedTensor& t = m.tensors.at(parts[i]);
    all.shape[0] += t.shape[0];
    all.bytes.insert(all.bytes.end(), t.bytes.begin(), t.bytes.end());
  }
  for (const std::string& part : parts) m.tensors.erase(part);
  m.tensors[to] = std::move(all);
}

CraftedModel fused(CraftedModel m) {
  for (int i = 0; i < m.sizes.layers; ++i) {
    const std::string p = "blk." + std::to_string(i) + ".";
    fuse(m, p + "attn_qkv.weight", {p + "attn_q.weight", p + "attn_k.weight", p + "attn_v.weight"});
    fuse(m, p + "ffn_up.weight", {p + "ffn_gate.weight", p + "ffn_up.weight"});
  }
  return m;
}

TEST(Formats, B14_FusedMatricesAreCutPartByPart) {
  RandomModel sizes{.architecture = "phi3", .heads = 4, .kv_heads = 2, .d_ff = 6, .vocab = 32, .fused = true};
  const ScratchFolder folder;
  const OpenModel six = open_random_model(sizes, folder.file("six.gguf"));
  const Program p = program_of(six.spec, "tp=2");
  for (int rank : {0, 1}) {
    EXPECT_EQ(rows_in_file(p, "Wgate", rank), (Range{rank * 3, 3}));
    EXPECT_EQ(rows_in_file(p, "Wup", rank), (Range{6 + rank * 3, 3}));
    EXPECT_EQ(rows_in_file(p, "Wq", rank), (Range{rank * 16, 16}));
    EXPECT_EQ(rows_in_file(p, "Wk", rank), (Range{32 + rank * 8, 8}));
    EXPECT_EQ(rows_in_file(p, "Wv", rank), (Range{48 + rank * 8, 8}));
    EXPECT_EQ(weight_of(p, "Wgate").tensor, weight_of(p, "Wup").tensor);
  }
  sizes.d_ff = 3;
  const OpenModel three = open_random_model(sizes, folder.file("three.gguf"));
  const Program odd = program_of(three.spec, "tp=2");
  EXPECT_EQ(rows_in_file(odd, "Wgate", 0), (Range{0, 2}));
  EXPECT_EQ(rows_in_file(odd, "Wgate", 1), (Range{2, 1}));
  EXPECT_EQ(rows_in_file(odd, "Wup", 0), (Range{3, 2}));
  EXPECT_EQ(rows_in_file(odd, "Wup", 1), (Range{5, 1}));
  const Value& down = weight_of(odd, "Wdown");
  EXPECT_EQ(columns(down, down.layout, odd.mesh, 1), (Range{2, 1}));
}

TEST(Formats, B14_FusedOrNotTheAnswersAreTheSame) {
  for (const int64_t d_ff : {96, 6, 3}) {
    const CraftedModel m({.architecture = "phi3", .d_ff = d_ff, .vocab = 200});
    const ScratchFolder folder;
    const OpenModel apart = m.open_gguf(folder.file("apart.gguf")),
                    together = fused(m).open_gguf(folder.file("fused.gguf"));
    const auto ids = random_ids(40, 200, 11);
    const auto right = Session(apart, "none").fresh(ids, 37);
    for (const char* plan : {"none", "tp=2", "tp=4", "tp=3", "cp=2", "pp=2,tp=2"}) {
      EXPECT_EQ(difference(right, Session(apart, plan).fresh(ids, 37)), 0) << plan << ", F " << d_ff;
      EXPECT_EQ(difference(right, Session(together, plan).fresh(ids, 37)), 0) << plan << ", F " << d_ff;
    }
  }
}

}  // namespace
}  // namespace shardwise
