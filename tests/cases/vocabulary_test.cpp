// Tables of a vocabulary that ranks do not share evenly: the last ids are there, and none beyond them.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/cases/crafted_model.h"
#include "tests/cases/program_parts.h"
#include "tests/cases/session.h"

namespace shardwise {
namespace {

using testing::ElementsAre;

RandomModel odd_vocabulary(bool tied) { return {.layers = 1, .d_ff = 32, .vocab = 1003, .tied = tied}; }

TEST(Vocabulary, B19_EveryRowHasAnOwner) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model(odd_vocabulary(false), folder.file("m.gguf"));
  const Program p = program_of(model.spec, "tp=4");
  for (const char* name : {"embed", "head"}) {
    std::vector<Range> all;
    for (int rank = 0; rank < 4; ++rank) all.push_back(rows_in_file(p, name, rank));
    EXPECT_THAT(all, ElementsAre(Range{0, 251}, Range{251, 251}, Range{502, 251}, Range{753, 250})) << name;
  }
}

// Layers pass everything on; the head gives each id's embedding as `follower` of it.
CraftedModel chain(bool tied) {
  CraftedModel m(odd_vocabulary(tied));
  m.fill("blk.0.attn_output.weight", 0), m.fill("blk.0.ffn_down.weight", 0);
  if (tied) return m;
  for (int64_t id = 0; id < 1003; ++id)
    for (int64_t i = 0; i < 64; ++i) m.at("output.weight", (id + 1) % 1003, i) = m.at("token_embd.weight", id, i);
  return m;
}

TEST(Vocabulary, B19_TheLastIdsAreReadAndProduced) {
  const ScratchFolder folder;
  const OpenModel untied = chain(false).open_gguf(folder.file("untied.gguf"));
  const OpenModel tied = chain(true).open_gguf(folder.file("tied.gguf"));
  for (const char* plan : {"none", "tp=4", "tp=8", "tp=2,pp=1", "cp=2,tp=2"}) {
    EXPECT_THAT(Session(untied, plan).answer({.prompt = {998}, .max_tokens = 6}).tokens,
                ElementsAre(999, 1000, 1001, 1002, 0, 1))
        << plan;
    for (int id : {1000, 1001, 1002})
      EXPECT_THAT(Session(tied, plan).answer({.prompt = {id}, .max_tokens = 2}).tokens, ElementsAre(id, id)) << plan;
  }
}

TEST(Vocabulary, B19_EmbeddingsAndLogitsAreTheSameBits) {
  for (const bool tied : {false, true}) {
    const ScratchFolder folder;
    const OpenModel model = open_random_model(odd_vocabulary(tied), folder.file("m.gguf"));
    const std::vector<int> ids = {1002, 0, 1001, 753, 752, 250, 251, 1000, 502, 501, 1002};
    const auto right = Session(model, "none").fresh(ids);
    EXPECT_EQ(right.size(), ids.size() * 1003);
    for (const char* plan : {"tp=2", "tp=4", "tp=7", "tp=8", "pp=2,tp=2"})
      EXPECT_EQ(difference(right, Session(model, plan).fresh(ids)), 0) << plan;
  }
}

// Element 0 of all embeddings is large, and all rows of the head take it off: whatever was filled up with zeros would
// win.
CraftedModel all_negative(int64_t vocab) {
  CraftedModel m({.layers = 1, .d_model = 32, .heads = 4, .kv_heads = 1, .d_ff = 32, .vocab = vocab});
  for (int64_t id = 0; id < vocab; ++id) m.at("token_embd.weight", id, 0) = 3, m.at("output.weight", id, 0) = -2;
  return m;
}

TEST(Vocabulary, B19_NothingIsFilledUp) {
  const ScratchFolder folder;
  const OpenModel model = all_negative(32001).open_gguf(folder.file("m.gguf"));
  const auto right = Session(model, "none").fresh({32000, 5});
  ASSERT_LT(*std::max_element(right.begin(), right.end()), 0);
  for (const char* plan : {"tp=2", "tp=4", "pp=1,tp=3"}) {
    Session session(model, plan);
    const auto logits = session.fresh({32000, 5});
    EXPECT_EQ(logits.size(), 2U * 32001) << plan;
    EXPECT_EQ(difference(right, logits), 0) << plan;
    const auto chances = most_likely(session.last(logits), 32001);
    double sum = 0;
    for (const TokenChance& c : chances) {
      ASSERT_TRUE(c.id >= 0 && c.id < 32001);
      sum += std::exp(double(c.logprob));
    }
    EXPECT_EQ(chances.size(), 32001U);
    EXPECT_NEAR(sum, 1, 1e-5);
    for (int id : session.answer({.prompt = {32000}, .max_tokens = 20}).tokens) EXPECT_LT(id, 32001) << plan;
  }
}

TEST(Vocabulary, B19_NoDrawIsBeyondTheVocabulary) {
  const ScratchFolder folder;
  const OpenModel model = all_negative(1003).open_gguf(folder.file("m.gguf"));
  Session session(model, "tp=4");
  const auto logits = session.last(session.fresh({1, 2, 3}));
  Sampler sampler({.temperature = 1, .seed = 1});
  std::vector<int> counts(1003);
  for (int draw = 0; draw < 10000; ++draw) {
    const int id = sampler.next(logits, {});
    ASSERT_TRUE(id >= 0 && id < 1003) << draw;
    ++counts[size_t(id)];
  }
  EXPECT_GT(counts[1000] + counts[1001] + counts[1002], 0);
}

}  // namespace
}  // namespace shardwise
