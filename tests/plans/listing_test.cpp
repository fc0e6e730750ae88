// Programs as they are printed and run: listings kept in tests/golden/programs, and the moves that each plan adds.
// SHARDWISE_UPDATE_GOLDENS=1 writes the listings anew; read the difference before it is kept.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "shardwise/engine/engine.h"
#include "tests/support/random_model.h"

namespace shardwise {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const BatchShape kPrefill{{{0, 64, 1}}, 16}, kDecode{{{64, 1, 1}}, 1};
const BatchShape kTwoSequences{{{0, 32, 1}, {0, 32, 1}}, 16};

class Listing : public testing::Test {
 protected:
  Program compiled(const std::string& text, const BatchShape& shape, int layers = 1) {
    const auto plan = parse_plan(text);
    EXPECT_TRUE(plan) << plan.error().what;
    const OpenModel model = open_random_model({.layers = layers}, folder_.file("m.gguf"));
    return compile(forward(model.spec, shape), *plan);
  }

 private:
  const ScratchFolder folder_;
};

// How often each move and merge stands in a program.
std::map<std::string, int> moves(const Program& p, int layer = -1) {
  std::map<std::string, int> count;
  for (const Step& s : p.steps) {
    if (layer >= 0 && s.layer != layer) continue;
    if (const auto* m = std::get_if<Collective>(&s.op)) {
      const bool merges = p.value(m->in).layout[m->axis] == partial(Reduce::Softmax);
      ++count[std::string(merges ? "softmax " : "") + std::string(name(m->move))];
    }
    if (std::holds_alternative<Shift>(s.op)) ++count["shift"];
    if (std::holds_alternative<Transfer>(s.op)) ++count["transfer"];
    if (const auto* c = std::get_if<Compute>(&s.op))
      if (c->kind == OpKind::AttendPart || c->kind == OpKind::Merge) ++count[std::string(rule(c->kind).name)];
  }
  return count;
}

struct Golden {
  const char *name, *plan;
  const BatchShape* shape;
  int layers = 1;
};

const Golden kGoldens[] = {
    {"none", "none", &kPrefill},
    {"tp", "tp=2", &kPrefill},
    {"tp_sequence_parallel", "tp=2; K:tp F:tp V:tp T:tp", &kPrefill},
    {"cp_gather_prefill", "cp=2:gather", &kPrefill},
    {"cp_ring_prefill", "cp=2:ring", &kPrefill},
    {"cp_ulysses_prefill", "cp=2:ulysses", &kPrefill},
    {"cp_decode", "cp=2", &kDecode},
    {"dp", "dp=2", &kTwoSequences},
    {"pp", "pp=2", &kDecode, 2},
    {"pp_cp_tp", "pp=2,cp=2,tp=4", &kPrefill, 2},
};

TEST_F(Listing, IsAsItWas) {
  for (const auto& [name, plan, shape, layers] : kGoldens) {
    const std::string path = fmt::format("{}/tests/golden/programs/{}.txt", SHARDWISE_SOURCE_DIR, name);
    const Program p = compiled(plan, *shape, layers);
    EXPECT_THAT(check(p), IsEmpty()) << plan;
    if (std::getenv("SHARDWISE_UPDATE_GOLDENS") != nullptr) std::ofstream(path) << explain(p);
    std::ostringstream kept;
    kept << std::ifstream(path).rdbuf();
    EXPECT_EQ(explain(p), kept.str()) << path;
  }
}

// ---- moves that a layer in the middle adds
// ---------------------------------------------------------------------------

class MovesOfALayer : public Listing {
 protected:
  std::map<std::string, int> of(const std::string& plan, const BatchShape& shape) {
    return moves(compiled(plan, shape, 3), 1);
  }
};

TEST_F(MovesOfALayer, OneRankMovesNothing) {
  for (const char* plan : {"none", "tp=1", "pp=1,cp=1:ring,tp=1", "a=1; D:a T:a"})
    for (const BatchShape& shape : {kPrefill, kDecode}) EXPECT_THAT(moves(compiled(plan, shape, 3)), IsEmpty()) << plan;
}

// Shoeybi et al. 2019: one sum after attention, one after the FFN.
TEST_F(MovesOfALayer, WeightsCutNeedTwoSums) {
  for (const BatchShape& shape : {kPrefill, kDecode})
    EXPECT_THAT(of("tp=2", shape), UnorderedElementsAre(Pair("all_reduce", 2)));
}

// Korthikanti et al. 2022: each sum in two halves, tokens cut between them.
TEST_F(MovesOfALayer, TokensCutBetweenTheSumsHalveThem) {
  EXPECT_THAT(of("tp=2; K:tp F:tp V:tp T:tp", kPrefill),
              UnorderedElementsAre(Pair("reduce_scatter", 2), Pair("all_gather", 2)));
  EXPECT_THAT(of("tp=2; K:tp F:tp V:tp T:tp", kDecode), UnorderedElementsAre(Pair("all_reduce", 2)));  // one token
}

TEST_F(MovesOfALayer, TokensCutGatherTheRows) {
  EXPECT_THAT(of("cp=2:gather", kPrefill), UnorderedElementsAre(Pair("all_gather", 1)));
}

TEST_F(MovesOfALayer, ARingPassesEachPartOn) {
  for (const int n : {2, 3, 4})
    EXPECT_THAT(of(fmt::format("cp={}:ring", n), kPrefill),
                UnorderedElementsAre(Pair("shift", n - 1), Pair("attend_part", n), Pair("merge", n - 1)));
}

TEST_F(MovesOfALayer, UlyssesTakesTokensToHeadsAndBack) {
  EXPECT_THAT(of("cp=2:ulysses", kPrefill), UnorderedElementsAre(Pair("all_to_all", 4)));  // q, k, v; and the result
}

TEST_F(MovesOfALayer, ADecodeOnCutRowsMergesOnce) {
  for (const char* plan : {"cp=2", "cp=3", "cp=2:gather", "cp=2:ring"})
    EXPECT_THAT(of(plan, kDecode), UnorderedElementsAre(Pair("softmax all_reduce", 1))) << plan;
}

TEST_F(MovesOfALayer, ReplicasMoveNothing) { EXPECT_THAT(of("dp=2", kTwoSequences), IsEmpty()); }

TEST_F(MovesOfALayer, StagesPassOneActivationOnAtEachBoundary) {
  for (const BatchShape& shape : {kPrefill, kDecode}) {
    EXPECT_THAT(moves(compiled("pp=3", shape, 3)), UnorderedElementsAre(Pair("transfer", 2)));
    EXPECT_THAT(moves(compiled("pp=2(1,2)", shape, 3)), UnorderedElementsAre(Pair("transfer", 1)));
    EXPECT_THAT(moves(compiled("pp=7", shape, 3)), UnorderedElementsAre(Pair("transfer", 2)));
  }
}

TEST_F(MovesOfALayer, WaysAddUp) {
  EXPECT_THAT(of("pp=3,cp=2:gather,tp=2", kPrefill),
              UnorderedElementsAre(Pair("transfer", 1), Pair("all_gather", 1), Pair("all_reduce", 2)));
}

// What is planted must be found; check() runs on every plan of a user before the first collective.
TEST_F(Listing, PlantedFaultsAreFound) {
  Program reads_a_part = compiled("tp=2", kPrefill);
  for (Step& s : reads_a_part.steps)  // the sum after attention is left out
    if (auto* c = std::get_if<Compute>(&s.op); c && c->kind == OpKind::Add)
      for (const Step& m : reads_a_part.steps)
        if (const auto* sum = std::get_if<Collective>(&m.op); sum && sum->out == c->in[1]) c->in[1] = sum->in;
  EXPECT_THAT(check(reads_a_part), testing::Contains(testing::HasSubstr("add reads partial")));
}

}  // namespace
}  // namespace shardwise
