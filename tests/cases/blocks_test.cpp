// Cuts of quantised rows fall between blocks, at the same places for all three matrices of the FFN.
#include <gmock/gmock.h>

#include "tests/cases/program_parts.h"
#include "tests/cases/session.h"

namespace shardwise {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// What forward() needs to know of a model, without a file.
ModelSpec spec_of(int64_t d_ff, DType type) {
  ModelSpec m;
  m.layers = 1, m.d_model = 256, m.heads = 8, m.kv_heads = 4, m.head_size = 32, m.d_ff = d_ff, m.vocab = 256;
  m.tables.resize(1);
  m.embedding = {"embedding", type, 0}, m.output = {"output", type, 0}, m.output_norm = {"norm", DType::F32, 0};
  LayerSpec& l = m.per_layer.emplace_back();
  for (const auto& [name, ref] : {std::pair{"q", &l.q},
                                  {"k", &l.k},
                                  {"v", &l.v},
                                  {"o", &l.o},
                                  {"gate", &l.gate},
                                  {"up", &l.up},
                                  {"down", &l.down}})
    *ref = {name, type, 0};
  l.attn_norm = {"attn_norm", DType::F32, 0}, l.ffn_norm = {"ffn_norm", DType::F32, 0};
  return m;
}

// The ranks' shares of the columns of down; every cut is between blocks, and nobody stores another's.
std::vector<int64_t> shares(int64_t d_ff, DType type, const std::string& plan) {
  const Program p = program_of(spec_of(d_ff, type), plan);
  const Value& down = weight_of(p, "Wdown");
  std::vector<int64_t> all;
  int64_t next = 0;
  for (int rank = 0; rank < p.mesh.ranks(); ++rank) {
    const Range own = columns(down, down.layout, p.mesh, rank);
    EXPECT_EQ(own.begin, next) << plan;
    EXPECT_EQ(own.begin % info(type).block, 0) << plan;
    EXPECT_EQ(held_columns(down, down.layout, p.mesh, rank), own) << plan;
    EXPECT_EQ(rows_in_file(p, "Wgate", rank), own) << plan;
    EXPECT_EQ(rows_in_file(p, "Wup", rank), own) << plan;
    next = own.end();
    all.push_back(own.size);
  }
  EXPECT_EQ(next, d_ff) << plan;
  return all;
}

TEST(Blocks, B20_CutsFallBetweenBlocks) {
  for (const DType type : {DType::Q4_K, DType::Q6_K}) {
    EXPECT_THAT(shares(4864, type, "tp=2"), ElementsAre(2560, 2304));
    EXPECT_THAT(shares(18944, type, "tp=4"), UnorderedElementsAre(4864, 4864, 4608, 4608));
    EXPECT_THAT(shares(18944, type, "tp=3"), ElementsAre(6400, 6400, 6144));
    EXPECT_THAT(shares(2048, type, "tp=3"), ElementsAre(768, 768, 512));
  }
  for (const DType type : {DType::Q8_0, DType::Q5_0, DType::Q4_1}) {
    EXPECT_THAT(shares(640, type, "tp=2"), ElementsAre(320, 320));
    EXPECT_THAT(shares(4864, type, "tp=2"), ElementsAre(2432, 2432));
    EXPECT_THAT(shares(1536, type, "tp=3"), ElementsAre(512, 512, 512));
    for (int64_t n : shares(18944, type, "tp=3")) EXPECT_NEAR(double(n), 18944.0 / 3, 64);
  }
}

struct Small {
  int64_t d_ff;
  DType type;
  std::vector<const char*> plans;
  int64_t d_model = 256, heads = 4, kv_heads = 1, head_size = 64;
};

TEST(Blocks, B20_AnswersStayTheSame) {
  const std::vector<Small> models = {
      {4864, DType::Q4_K, {"tp=2", "cp=2", "tp=2(3,5)"}},
      {4864, DType::Q6_K, {"tp=2"}},
      {4864, DType::Q8_0, {"tp=2", "tp=3"}},
      {18944, DType::Q4_K, {"tp=3", "tp=4"}},
      {2048, DType::Q6_K, {"tp=3", "tp=8"}},
      {640, DType::Q8_0, {"tp=2", "tp=3"}},
      {640, DType::Q5_0, {"tp=2", "tp=4"}, 640, 4, 1, 256},
      {1536, DType::Q4_1, {"tp=3", "tp=2", "tp=4"}, 576, 9, 3, 64},
  };
  for (const Small& m : models) {
    const ScratchFolder folder;
    const OpenModel model = open_random_model({.layers = 1,
                                               .d_model = m.d_model,
                                               .heads = m.heads,
                                               .kv_heads = m.kv_heads,
                                               .head_size = m.head_size,
                                               .d_ff = m.d_ff,
                                               .type = m.type},
                                              folder.file("m.gguf"));
    ASSERT_EQ(model.spec.per_layer[0].down.dtype, m.type);
    const auto ids = random_ids(20, 256, 13);
    const auto right = Session(model, "none").fresh(ids, 18);
    ASSERT_EQ(difference(right, right), 0) << "not finite";
    for (const char* plan : m.plans)
      EXPECT_EQ(difference(right, Session(model, plan).fresh(ids, 18)), 0)
          << plan << ", F " << m.d_ff << ", " << info(m.type).name;
  }
}

}  // namespace
}  // namespace shardwise
