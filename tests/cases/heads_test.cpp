// Heads that ranks do not share evenly: who holds which, and that answers stay the same.
#include <gmock/gmock.h>

#include "tests/cases/program_parts.h"
#include "tests/cases/session.h"

namespace shardwise {
namespace {

using testing::Each;
using testing::ElementsAre;

// A prompt of 17 ids and 64 greedy steps: the same tokens, from the same bits, as on one rank.
void expect_same_answers(const OpenModel& model, const std::vector<const char*>& plans) {
  const Request request{.prompt = random_ids(17, model.spec.vocab, 1), .max_tokens = 64};
  const Answer truth = Session(model, "none").answer(request);
  ASSERT_EQ(truth.tokens.size(), 64U);
  for (const char* plan : plans) {
    const Answer answer = Session(model, plan).answer(request);
    EXPECT_EQ(answer.tokens, truth.tokens) << plan;
    EXPECT_EQ(answer.logits_hash, truth.logits_hash) << plan;
  }
}

TEST(Heads, B01_MoreRanksThanKvHeadsHoldWholeCopies) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({}, folder.file("m.gguf"));
  const Program four = program_of(model.spec, "tp=4"), eight = program_of(model.spec, "tp=8");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(rows_in_file(four, "Wq", rank), (Range{rank * 16, 16}));
    for (const char* name : {"Wk", "Wv"}) EXPECT_EQ(rows_in_file(four, name, rank), (Range{rank / 2 * 8, 8})) << name;
  }
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(rows_in_file(eight, "Wq", rank), (Range{rank * 8, 8}));
    for (const char* name : {"Wk", "Wv"}) EXPECT_EQ(rows_in_file(eight, name, rank), (Range{rank / 4 * 8, 8})) << name;
  }
}

TEST(Heads, B01_AnswersStayTheSame) {
  const ScratchFolder folder;
  expect_same_answers(open_random_model({}, folder.file("m.gguf")), {"tp=4", "tp=8"});
}

TEST(Heads, B01_TheCacheOfARankIsOfOneHead) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({}, folder.file("m.gguf"));
  const int64_t page_head = kernel::page_head_bytes(kernel::CacheType::F32, 8);
  for (const auto& [plan, heads] : {std::pair{"none", 2}, {"tp=2", 1}, {"tp=4", 1}, {"tp=8", 1}}) {
    Session session(model, plan);
    session.fresh(random_ids(80, 256, 2));  // five pages of 16 rows
    EXPECT_THAT(session.engine().cache_bytes(), Each(model.spec.layers * 5 * heads * page_head)) << plan;
  }
}

const RandomModel kNineHeads{.d_model = 72, .heads = 9, .kv_heads = 3, .d_ff = 96, .vocab = 250};

TEST(Heads, B02_NineHeadsOfThreeGroupsOnAnyNumberOfRanks) {
  const ScratchFolder folder;
  expect_same_answers(open_random_model(kNineHeads, folder.file("m.gguf")),
                      {"tp=2", "tp=3", "tp=4", "tp=2(2,1)", "pp=2", "cp=2", "tp=9"});
}

TEST(Heads, B02_QueryHeadsFindTheirKvHeads) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model(kNineHeads, folder.file("m.gguf"));
  auto heads = [&](const char* plan, const char* name) {
    const Program p = program_of(model.spec, plan);
    std::vector<std::pair<int64_t, int64_t>> all;
    for (int rank = 0; rank < p.mesh.ranks(); ++rank) {
      const Range r = rows_in_file(p, name, rank);
      all.emplace_back(r.begin / 8, r.size / 8);
    }
    return all;
  };
  using P = std::pair<int64_t, int64_t>;
  EXPECT_THAT(heads("tp=3", "Wq"), ElementsAre(P{0, 3}, P{3, 3}, P{6, 3}));
  EXPECT_THAT(heads("tp=3", "Wk"), ElementsAre(P{0, 1}, P{1, 1}, P{2, 1}));
  EXPECT_THAT(heads("tp=2(2,1)", "Wq"), ElementsAre(P{0, 6}, P{6, 3}));
  EXPECT_THAT(heads("tp=2(2,1)", "Wk"), ElementsAre(P{0, 2}, P{2, 1}));
  EXPECT_THAT(heads("tp=2", "Wq"), ElementsAre(P{0, 5}, P{5, 4}));
  EXPECT_THAT(heads("tp=2", "Wk"), ElementsAre(P{0, 2}, P{1, 2}));
}

}  // namespace
}  // namespace shardwise
