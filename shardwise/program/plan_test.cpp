// Plans as text: what each form means, and that every fault is one sentence that quotes the text.
#include "shardwise/program/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace shardwise {

// GoogleTest looks for this name.
// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const Rule& r, std::ostream* out) { *out << letter(r.beside) << letter(r.dim) << ":" << r.axis; }

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Rule cuts(Dim d, int axis) { return {d, axis, d}; }

Plan parsed(const std::string& text) {
  auto plan = parse_plan(text);
  EXPECT_TRUE(plan) << plan.error().what;
  return plan ? *plan : Plan{};
}

TEST(PlanText, NoneIsOneRank) {
  const Plan plan = parsed("none");
  EXPECT_EQ(plan.mesh.ranks(), 1);
  EXPECT_THAT(plan.rules, IsEmpty());
  EXPECT_EQ(plan.stage_axis(), -1);
  EXPECT_EQ(parsed("tp=1").mesh.ranks(), 1);
}

TEST(PlanText, ShortFormsStandForAllThatTheirAxesMayCut) {
  EXPECT_THAT(parsed("tp=4").rules, ElementsAre(cuts(Dim::K, 0), cuts(Dim::F, 0), cuts(Dim::V, 0)));
  EXPECT_THAT(parsed("cp=2").rules, ElementsAre(cuts(Dim::S, 0), cuts(Dim::T, 0)));
  EXPECT_THAT(parsed("dp=3").rules, ElementsAre(cuts(Dim::B, 0)));
  EXPECT_THAT(parsed("pp=3").rules, ElementsAre(cuts(Dim::L, 0)));
  EXPECT_THAT(parsed("ep=2").rules, ElementsAre(cuts(Dim::E, 0)));
  EXPECT_THAT(parsed("pp=2,tp=2").rules,
              ElementsAre(cuts(Dim::L, 0), cuts(Dim::K, 1), cuts(Dim::F, 1), cuts(Dim::V, 1)));
}

TEST(PlanText, AxesKeepTheirOrderAndSizes) {
  const Plan plan = parsed("pp=2,cp=3,tp=4");
  ASSERT_EQ(plan.mesh.axes.size(), 3U);
  EXPECT_EQ(plan.mesh.axis("cp"), 1);
  EXPECT_EQ(plan.mesh.size(2), 4);
  EXPECT_EQ(plan.mesh.ranks(), 24);
  EXPECT_EQ(plan.text, "pp=2,cp=3,tp=4");
}

TEST(PlanText, FormsOfAttention) {
  EXPECT_EQ(parsed("cp=2").attention, Attention::Priced);
  EXPECT_EQ(parsed("cp=2:gather").attention, Attention::Gather);
  EXPECT_EQ(parsed("cp=2:ring").attention, Attention::Ring);
  const Plan ulysses = parsed("cp=2:ulysses,tp=2");
  EXPECT_EQ(ulysses.attention, Attention::Ulysses);
  EXPECT_THAT(ulysses.rules,
              ElementsAre(cuts(Dim::T, 0), Rule{Dim::K, 0, Dim::S}, cuts(Dim::K, 1), cuts(Dim::F, 1), cuts(Dim::V, 1)));
}

TEST(PlanText, Weights) {
  const Plan of_axis = parsed("tp=2(3,5)");
  EXPECT_THAT(of_axis.mesh.weights(Dim::F, 0), ElementsAre(3, 5));
  EXPECT_THAT(of_axis.mesh.weights(Dim::K, 0), ElementsAre(3, 5));
  const Plan of_dim = parsed("tp=2; K:tp F:tp(3,5)");
  EXPECT_THAT(of_dim.mesh.weights(Dim::F, 0), ElementsAre(3, 5));
  EXPECT_THAT(of_dim.mesh.weights(Dim::K, 0), ElementsAre(1, 1));
  EXPECT_THAT(parsed("cp=2(1,3):ring").mesh.weights(Dim::S, 0), ElementsAre(1, 3));
  EXPECT_THAT(parsed("tp=3(0,1,0)").mesh.weights(Dim::V, 0), ElementsAre(0, 1, 0));
}

TEST(PlanText, Rules) {
  const Plan plan = parsed("pp=2,cp=2,tp=4; L:pp S:cp T:cp K:tp F:tp V:tp");
  EXPECT_THAT(plan.rules, ElementsAre(cuts(Dim::L, 0), cuts(Dim::S, 1), cuts(Dim::T, 1), cuts(Dim::K, 2),
                                      cuts(Dim::F, 2), cuts(Dim::V, 2)));
  EXPECT_EQ(plan.stage_axis(), 0);
  EXPECT_THAT(parsed("a=2;").rules, IsEmpty());  // copies
}

TEST(PlanText, ARuleMayHoldOnlyBesideAnotherDim) {
  EXPECT_THAT(parsed("cp=2; SK:cp T:cp").rules, ElementsAre(Rule{Dim::K, 0, Dim::S}, cuts(Dim::T, 0)));
}

TEST(PlanText, QueryHeadsAreCutAsKvHeadsAre) {
  EXPECT_THAT(parsed("tp=2; G:tp").rules, ElementsAre(cuts(Dim::K, 0)));
  EXPECT_THAT(parsed("tp=2; SG:tp").rules, ElementsAre(Rule{Dim::K, 0, Dim::S}));
}

TEST(PlanText, SpacesMayStandBetweenTheParts) {
  EXPECT_EQ(parsed(" tp=2 , cp=2 ;  K:tp   T:cp ").rules, parsed("tp=2,cp=2;K:tp T:cp").rules);
}

struct Fault {
  const char *text, *says;
};

const Fault kFaults[] = {
    {"", "found 'the end' where the name of an axis was expected"},
    {" ", "the name of an axis"},
    {"=2", "the name of an axis"},
    {"tp", "'=' after 'tp'"},
    {"tp:2", "'=' after 'tp'"},
    {"tp=", "a number of ranks from 1 to 4096"},
    {"tp=x", "found 'x'"},
    {"tp=0", "a number of ranks from 1 to 4096"},
    {"tp=-2", "a number of ranks from 1 to 4096"},
    {"tp=99999999999999999999", "a number of ranks from 1 to 4096"},
    {"tp=2.5", "',' or ';'"},
    {"tp=2 cp=2", "',' or ';'"},
    {"tp=2,", "the name of an axis"},
    {"tp=2,,cp=2", "the name of an axis"},
    {"tp=2,tp=2", "axis 'tp' is there twice"},
    {"tp=64,cp=65", "more than 4096 ranks"},
    {"a=2,b=2,c=2,d=2,e=2,f=2; T:a", "more than 5 axes"},
    {"foo=2", "axis 'foo' has no meaning of its own"},
    {"auto", "'=' after 'auto'"},
    {"tp=2(", "a weight from 0 to"},
    {"tp=2()", "a weight from 0 to"},
    {"tp=2(1", "')' after the weights"},
    {"tp=2(1,2,3)", "3 weights for an axis of 2 ranks"},
    {"tp=2(1)", "1 weights for an axis of 2 ranks"},
    {"tp=2(0,0)", "not all zero"},
    {"tp=2(-1,2)", "a weight from 0 to"},
    {"tp=2(1,99999999)", "a weight from 0 to"},
    {"cp=2:zigzag", "'cp:zigzag' is not a form of attention"},
    {"tp=2:ring", "'tp:ring' is not a form of attention"},
    {"cp=2:", "is not a form of attention"},
    {"tp=2; X:tp", "'X' is not a dim"},
    {"tp=2; k:tp", "'k' is not a dim"},
    {"tp=2; KX:tp", "'X' is not a dim"},
    {"tp=2; KKK:tp", "a rule such as K:tp"},
    {"tp=2; :tp", "a rule such as K:tp"},
    {"tp=2; K", "':' after 'K'"},
    {"tp=2; K=tp", "':' after 'K'"},
    {"tp=2; K:cp", "names an axis that the mesh lacks; add cp=N"},
    {"tp=2; K:", "names an axis that the mesh lacks"},
    {"tp=2; F:tp(1,2,3)", "3 weights for an axis of 2 ranks"},
    {"tp=2; F:tp(1,2", "')' after the weights"},
    {"tp=2; K:tp, F:tp", "a rule such as K:tp"},
};

TEST(PlanText, EveryFaultIsOneSentenceThatQuotesTheText) {
  for (const auto& [text, says] : kFaults) {
    const auto plan = parse_plan(text);
    ASSERT_FALSE(plan) << text;
    const std::string what = plan.error().what;
    EXPECT_THAT(what, HasSubstr(says)) << text;
    EXPECT_THAT(what, HasSubstr("plan '" + std::string(text) + "'"));
    EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), 0) << text;
  }
}

// ---- what a rule does to a value ------------------------------------------------------------------------------------

Value value_of(Shape shape, int outputs = 0) {
  return {.name = "x",
          .shape = std::move(shape),
          .role = outputs > 0 ? Value::Weight : Value::Activation,
          .outputs = outputs};
}

const Extent kT{Dim::T, 64, 16, 1, false, {0, 32}}, kD{Dim::D, 64}, kF{Dim::F, 128}, kQ{Dim::K, 8, 1, 4},
    kH{Dim::H, 16};
const Extent kOneKvHead{Dim::K, 1, 1, 4, true};

TEST(PlanLayout, TheFirstRuleThatHoldsCuts) {
  EXPECT_EQ(parsed("a=2; T:a D:a").layout(value_of({kT, kD}))[0], split(Dim::T));
  EXPECT_EQ(parsed("a=2; D:a T:a").layout(value_of({kT, kD}))[0], split(Dim::D));
  EXPECT_EQ(parsed("a=2; F:a D:a").layout(value_of({kT, kD}))[0], split(Dim::D));
  EXPECT_EQ(parsed("a=2; F:a").layout(value_of({kT, kD}))[0], replicated());
}

TEST(PlanLayout, OneGranuleIsNotCut) {
  Extent t = kT;
  t.size = 16;
  EXPECT_EQ(parsed("a=2; T:a").layout(value_of({t, kD}))[0], replicated());
  EXPECT_EQ(parsed("a=2; T:a D:a").layout(value_of({t, kD}))[0], split(Dim::D));
  t.size = 32;
  const Layout both = parsed("a=2,b=2; T:a T:b").layout(value_of({t, kD}));  // nothing is left for b
  EXPECT_EQ(both[0], split(Dim::T));
  EXPECT_EQ(both[1], replicated());
}

TEST(PlanLayout, OneKvHeadIsCutByItsQueryHeads) {
  EXPECT_EQ(parsed("tp=2").layout(value_of({kT, kOneKvHead, kH}))[0], split(Dim::K));
}

TEST(PlanLayout, TheCacheIsCutHoweverFewRowsAStepReads) {
  EXPECT_EQ(parsed("cp=2").layout(value_of({{Dim::S, 1, 16}, kOneKvHead, kH}))[0], split(Dim::S));
}

TEST(PlanLayout, SequencesAreCutWhereThereAreTwo) {
  EXPECT_EQ(parsed("dp=2").layout(value_of({kT, kD}))[0], split(Dim::B));
  Extent one = kT;
  one.sequences = {0};
  EXPECT_EQ(parsed("dp=2").layout(value_of({one, kD}))[0], replicated());
  EXPECT_EQ(parsed("dp=2").layout(value_of({kD, kF}, 1))[0], replicated());
}

TEST(PlanLayout, ARuleBesideAnotherDimLeavesTheRest) {
  const Plan plan = parsed("cp=2; SK:cp");
  EXPECT_EQ(plan.layout(value_of({{Dim::S, 256, 16}, kOneKvHead, kH}))[0], split(Dim::K));
  EXPECT_EQ(plan.layout(value_of({kQ, kH, kD}, 2))[0], replicated());
}

TEST(PlanLayout, OfAMatrixOnlyTheOutermostRowAndColumnDimAreCut) {
  EXPECT_EQ(parsed("tp=2; H:tp K:tp").layout(value_of({kQ, kH, kD}, 2))[0], split(Dim::K));
  EXPECT_EQ(parsed("tp=2; D:tp").layout(value_of({kQ, kH, kD}, 2))[0], split(Dim::D));
  EXPECT_EQ(parsed("tp=2; H:tp").layout(value_of({kQ, kH, kD}, 2))[0], replicated());
}

TEST(PlanLayout, AnAxisOfOneRankCutsNothing) {
  EXPECT_EQ(parsed("a=1; D:a").layout(value_of({kT, kD}))[0], replicated());
  EXPECT_EQ(parsed("pp=1").stage_axis(), -1);
}

TEST(PlanLayout, TheAxisThatCutsLayersCutsNothingElse) {
  EXPECT_EQ(parsed("a=2; T:a L:a").layout(value_of({kT, kD}))[0], replicated());
}

// B10: every layer is on one stage, in order, however the ranks divide them.
TEST(PlanStages, B10_EveryLayerHasAStageInOrder) {
  auto stages = [](const Plan& plan, int layers) {
    std::vector<int> all;
    for (int i = 0; i < layers; ++i) all.push_back(plan.stage(i, layers));
    return all;
  };
  EXPECT_THAT(stages(parsed("pp=3"), 10), ElementsAre(0, 0, 0, 0, 1, 1, 1, 2, 2, 2));
  EXPECT_THAT(stages(parsed("pp=3(1,4,2)"), 7), ElementsAre(0, 1, 1, 1, 1, 2, 2));
  EXPECT_THAT(stages(parsed("pp=4"), 2), ElementsAre(0, 2));  // more stages than layers: some have none
  EXPECT_THAT(stages(parsed("tp=4"), 2), ElementsAre(0, 0));
}

TEST(PlanStages, CountsOfLayersAddUpToTheModels) {
  EXPECT_TRUE(check_layers(parsed("pp=3"), 10));
  EXPECT_TRUE(check_layers(parsed("pp=3(2,3,5)"), 10));
  EXPECT_TRUE(check_layers(parsed("tp=3(2,3,4)"), 10));
  EXPECT_TRUE(check_layers(parsed("pp=2(9,9); L:pp(4,6)"), 10));
  const Status wrong = check_layers(parsed("pp=3(2,3,4)"), 10);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().what, HasSubstr("plan 'pp=3(2,3,4)': the stages hold 9 layers, the model has 10"));
}

// ---- hostile text ---------------------------------------------------------------------------------------------------

// A plan that parses has a sane mesh; one that does not says why in one line. Never a crash.
void expect_sane(const std::string& text) {
  const auto plan = parse_plan(text);
  if (!plan) {
    RC_ASSERT(!plan.error().what.empty());
    return;
  }
  RC_ASSERT(plan->mesh.ranks() >= 1 && plan->mesh.ranks() <= kMaxRanks);
  RC_ASSERT(int(plan->mesh.axes.size()) <= kMaxAxes);
  for (const Rule& r : plan->rules) RC_ASSERT(r.axis >= 0 && r.axis < int(plan->mesh.axes.size()));
  for (int a = 0; a < int(plan->mesh.axes.size()); ++a)
    for (int d = 0; d < kDims; ++d) RC_ASSERT(int(plan->mesh.weights(Dim(d), a).size()) == plan->mesh.size(a));
  const Layout layout = plan->layout(value_of({kT, kQ, kH}));
  for (const Rule& r : plan->rules) RC_ASSERT(layout[r.axis] == replicated() || is_split(layout[r.axis]));
}

RC_GTEST_PROP(PlanText, RandomBytesNeverCrash, ()) { expect_sane(*rc::gen::arbitrary<std::string>()); }

RC_GTEST_PROP(PlanText, RandomWordsOfPlansNeverCrash, ()) {
  std::string text;
  for (const std::string& word : *rc::gen::container<std::vector<std::string>>(
           rc::gen::element<std::string>("tp", "cp", "a", "=", "2", "4096", "0", "(", ")", ",", "1", ":", ";", " ", "K",
                                         "SK", "T", "L", "ring", "\0")))
    text += word;
  expect_sane(text);
}

RC_GTEST_PROP(PlanText, APlanWithOneByteChangedNeverCrashes, ()) {
  std::string text = *rc::gen::element<std::string>("pp=2,cp=2,tp=4; L:pp S:cp T:cp K:tp F:tp(1,2,3,4) V:tp",
                                                    "pp=3(8,10,12),tp=2(3,5)", "cp=2(1,3):ulysses,tp=2", "none");
  text[*rc::gen::inRange<size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  expect_sane(text);
}

}  // namespace
}  // namespace shardwise
