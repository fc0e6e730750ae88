// The sharding pass and the checks on small programs made by hand; tests/plans has the listings of whole models.
#include "shardwise/program/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace shardwise {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Extent kT{Dim::T, 64, 16, 1, false, {0}}, kS{Dim::S, 256, 16, 1, false, {0}}, kD{Dim::D, 64}, kF{Dim::F, 256};
const Extent kQ{Dim::K, 8, 1, 4, false}, kKv{Dim::K, 2, 1, 4, true}, kH{Dim::H, 16}, kV{Dim::V, 100};

// A forward pass in the making.
struct Maker {
  Program p;
  int layer = 0;

  ValueId input(const Shape& shape) { return p.add({.name = "ids", .shape = shape, .role = Value::Input}); }
  ValueId matrix(const char* name, Shape outputs, const Shape& inputs) {
    const int rows = int(outputs.size());
    outputs.insert(outputs.end(), inputs.begin(), inputs.end());
    return p.add({.name = name, .shape = outputs, .role = Value::Weight, .outputs = rows});
  }
  ValueId vector(const char* name, const Shape& shape) {
    return p.add({.name = name, .shape = shape, .role = Value::Weight});
  }
  ValueId op(OpKind kind, std::vector<ValueId> in, const char* name, const Shape& shape, bool pinned = false) {
    return p.compute({kind, std::move(in), 0}, {.name = name, .shape = shape, .pinned = pinned}, layer);
  }
  ValueId embed() { return op(OpKind::Embed, {input({kT}), matrix("embed", {kV}, {kD})}, "x", {kT, kD}, true); }
};

Program mlp() {
  Maker m;
  ValueId x = m.embed();
  const ValueId h = m.op(OpKind::Norm, {x, m.vector("norm", {kD})}, "h", {kT, kD});
  const ValueId gate = m.op(OpKind::Linear, {h, m.matrix("Wgate", {kF}, {kD})}, "gate", {kT, kF});
  const ValueId up = m.op(OpKind::Linear, {h, m.matrix("Wup", {kF}, {kD})}, "up", {kT, kF});
  const ValueId a = m.op(OpKind::Gate, {gate, up}, "a", {kT, kF});
  const ValueId y = m.op(OpKind::Linear, {a, m.matrix("Wdown", {kD}, {kF})}, "y", {kT, kD});
  m.op(OpKind::Add, {x, y}, "x", {kT, kD}, true);
  return m.p;
}

Program attention(const Extent& t = kT, const Extent& s = kS) {
  Maker m;
  const Extent row{Dim::H, 2 * kH.size};
  const ValueId x = m.op(OpKind::Embed, {m.input({t}), m.matrix("embed", {kV}, {kD})}, "x", {t, kD}, true);
  const ValueId q = m.op(OpKind::Linear, {x, m.matrix("Wq", {kQ, kH}, {kD})}, "q", {t, kQ, kH});
  const ValueId k = m.op(OpKind::Linear, {x, m.matrix("Wk", {kKv, kH}, {kD})}, "k", {t, kKv, kH});
  const ValueId v = m.op(OpKind::Linear, {x, m.matrix("Wv", {kKv, kH}, {kD})}, "v", {t, kKv, kH});
  const ValueId cache = m.p.add({.name = "cache", .shape = {s, kKv, row}, .role = Value::Cache});
  const ValueId kv = m.op(OpKind::Append, {k, v, cache}, "kv", {s, kKv, row});
  const ValueId o = m.op(OpKind::Attend, {q, kv}, "o", {t, kQ, kH}, true);
  m.op(OpKind::Linear, {o, m.matrix("Wo", {kD}, {kQ, kH})}, "y", {t, kD}, true);
  return m.p;
}

Plan plan(const char* text) { return *parse_plan(text); }

// The steps that are not computed.
std::vector<std::string> moves(const Program& p) {
  std::vector<std::string> all;
  for (const Step& s : p.steps)
    if (!std::holds_alternative<Compute>(s.op)) all.push_back(text(p, s));
  return all;
}

TEST(Shard, OneRankIsTheLogicalProgram) {
  for (const Program& logical : {mlp(), attention()}) {
    const Program p = compile(logical, plan("none"));
    EXPECT_EQ(explain(p), explain(logical));
    EXPECT_THAT(check(p), IsEmpty());
  }
}

TEST(Shard, OutputsThenInputsCutMakeOneSum) {
  EXPECT_THAT(moves(shard(mlp(), plan("tp=2; F:tp"))), ElementsAre("all_reduce_tp y[T,D]{U_tp} -> y[T,D]"));
  EXPECT_THAT(moves(shard(attention(), plan("tp=2; K:tp"))), ElementsAre("all_reduce_tp y[T,D]{U_tp} -> y[T,D]"));
}

TEST(Shard, AGatheredActivationIsRemembered) {
  EXPECT_THAT(moves(shard(mlp(), plan("tp=2; F:tp T:tp"))),
              ElementsAre("all_gather_tp h[T_tp,D] -> h[T,D]", "reduce_scatter_tp y[T,D]{U_tp} -> y[T_tp,D]"));
}

TEST(Shard, ASumIsHalvedWhereItsReaderIsCut) {
  EXPECT_THAT(moves(shard(mlp(), plan("a=2,b=2; F:a T:a F:b"))),
              Contains("reduce_scatter_a y[T,D]{U_a}{U_b} -> y[T_a,D]{U_b}"));
}

// Mesh order is the only order: cut from the major axis down, uncut from the minor axis up.
TEST(Shard, TwoAxesThatCutOneDimKeepMeshOrder) {
  EXPECT_THAT(moves(shard(mlp(), plan("a=2,b=2; T:a T:b F:a F:b"))),
              ElementsAre("all_gather_b h[T_a_b,D] -> h[T_a,D]", "all_gather_a h[T_a,D] -> h[T,D]",
                          "reduce_scatter_a y[T,D]{U_a}{U_b} -> y[T_a,D]{U_b}",
                          "reduce_scatter_b y[T_a,D]{U_b} -> y[T_a_b,D]"));
}

TEST(Shard, WeightMatricesAndTheCacheNeverMove) {
  for (const char* text : {"a=2; D:a", "a=2; T:a D:a", "a=2,b=2; D:a F:b D:b F:a", "a=2; S:a K:a", "a=2; SK:a T:a",
                           "a=2,b=2; S:a S:b", "a=3; V:a", "a=2,b=2; K:a K:b T:a"})
    for (const Program& logical : {mlp(), attention()}) {
      const Program p = compile(logical, plan(text));
      EXPECT_THAT(check(p), IsEmpty()) << text;
      for (const Step& s : p.steps)
        if (const auto* m = std::get_if<Collective>(&s.op)) {
          EXPECT_EQ(p.value(m->in).outputs, 0) << text;
          EXPECT_NE(p.value(m->in).role, Value::Cache) << text;
        }
    }
}

TEST(Shard, CutTokensMeetCutRowsWithTheFewestBytes) {
  Extent few = kT, many = kS;
  many.size = 1 << 20;
  EXPECT_THAT(moves(shard(attention(kT, {Dim::S, 64, 16}), plan("cp=2"))),
              ElementsAre("all_gather_cp kv[S_cp,K,H] -> kv[S,K,H]"));
  const auto moved = moves(shard(attention(few, many), plan("cp=2")));  // a long context stays where it is
  EXPECT_THAT(moved, ElementsAre("all_gather_cp q[T_cp,K,G,H] -> q[T,K,G,H]",
                                 "reduce_scatter_cp o[T,K,G,H]{softmax_cp} -> o[T_cp,K,G,H]"));
}

// Found by random plans: rows are a set, so that those of one axis are gathered without a thought for the other.
TEST(Shard, RowsCutByTwoAxesAreGatheredAlongOne) {
  const Program p = compile(attention(), plan("a=2,b=3; S:a S:b T:a"));
  EXPECT_THAT(moves(p), Contains("all_gather_a kv[S_a_b,K,H] -> kv[S_b,K,H]"));
  EXPECT_THAT(check(p), IsEmpty());
}

// Heads are a range: those of a minor axis would change under a cut by a major one.
TEST(Shard, HeadsOfRowsAreNotCutAboveACut) {
  const Program p = compile(attention(), plan("a=2,b=2; SK:b DK:a DK:b"));
  EXPECT_THAT(check(p), IsEmpty());
  for (const std::string& move : moves(p)) EXPECT_THAT(move, testing::Not(HasSubstr(" kv["))) << move;
}

TEST(Shard, AStageGetsEachActivationOnce) {
  Program logical = mlp();
  Maker second{std::move(logical), 1};
  const ValueId x = ValueId(second.p.values.size()) - 1;
  const ValueId h = second.op(OpKind::Norm, {x, second.vector("norm", {kD})}, "h", {kT, kD});
  second.op(OpKind::Add, {x, h}, "x", {kT, kD}, true);
  EXPECT_THAT(moves(shard(second.p, plan("pp=2"))), ElementsAre("transfer 0->1 x[T,D]"));
}

TEST(Ring, PassesRowsOnBeforeItReadsThem) {
  const Program p = compile(attention(kT, {Dim::S, 64, 16}), plan("cp=3:ring"));
  std::vector<std::string> lines;
  for (const Step& s : p.steps)
    if (const std::string line = text(p, s); line.find("kv[") != std::string::npos || line.starts_with("merge"))
      lines.push_back(line);
  EXPECT_THAT(lines, ElementsAre("append k[T_cp,K,H] v[T_cp,K,H] cache[S_cp,K,H] -> kv[S_cp,K,H]",
                                 "shift_cp kv[S_cp,K,H] -> kv[S_cp',K,H]",
                                 "attend_part q[T_cp,K,G,H] kv[S_cp,K,H] -> o[T_cp,K,G,H]",
                                 "shift_cp kv[S_cp',K,H] -> kv[S_cp'',K,H]",
                                 "attend_part q[T_cp,K,G,H] kv[S_cp',K,H] -> o[T_cp,K,G,H]",
                                 "merge o[T_cp,K,G,H] o[T_cp,K,G,H] -> o[T_cp,K,G,H]",
                                 "attend_part q[T_cp,K,G,H] kv[S_cp'',K,H] -> o[T_cp,K,G,H]",
                                 "merge o[T_cp,K,G,H] o[T_cp,K,G,H] -> o[T_cp,K,G,H]"));
  EXPECT_THAT(check(p), IsEmpty());
}

// ---- check: planted faults ------------------------------------------------------------------------------------------

Compute& first(Program& p, OpKind kind) {
  for (Step& s : p.steps)
    if (auto* c = std::get_if<Compute>(&s.op); c && c->kind == kind) return *c;
  throw std::logic_error("no such op");
}

// Takes out the only move, so that its readers read what it read.
void leave_out_the_move(Program& p) {
  for (size_t i = 0; i < p.steps.size(); ++i)
    if (const auto* m = std::get_if<Collective>(&p.steps[i].op)) {
      const auto [from, to] = std::pair(m->in, m->out);
      for (Step& s : p.steps)
        if (auto* c = std::get_if<Compute>(&s.op)) std::replace(c->in.begin(), c->in.end(), to, from);
      p.steps.erase(p.steps.begin() + std::ptrdiff_t(i));
      return;
    }
}

TEST(Check, FindsAPartialThatIsRead) {
  Program p = shard(mlp(), plan("tp=2; F:tp"));
  leave_out_the_move(p);
  EXPECT_THAT(check(p), Contains(HasSubstr("add reads partial y[T,D]{U_tp}")));
}

TEST(Check, FindsASumThatIsForgotten) {
  Program p = shard(mlp(), plan("tp=2; F:tp"));
  for (Value& v : p.values)
    if (v.name == "y") v.layout = {};
  EXPECT_THAT(check(p), Contains(HasSubstr("linear of a[T,F_tp] can not make y[T,D]")));
}

TEST(Check, FindsAnAppendToACopy) {
  Program p = shard(attention(), plan("cp=2"));
  p.values[size_t(first(p, OpKind::Append).in.back())].role = Value::Activation;
  EXPECT_THAT(check(p), Contains(HasSubstr("append to a copy cache[S_cp,K,H]")));
}

TEST(Check, FindsAnAppendOfTheWrongPart) {
  Program p = shard(attention(), plan("cp=2"));
  p.values[size_t(first(p, OpKind::Append).in[0])].layout[0] = split(Dim::K);
  EXPECT_THAT(check(p), Contains(HasSubstr("append of a part k[T,K_cp,H] to cache[S_cp,K,H]")));
}

TEST(Check, FindsADimThatMustBeWhole) {
  Program p = shard(attention(), plan("none"));
  p.mesh = plan("a=2; T:a").mesh;
  p.values[size_t(first(p, OpKind::Attend).in[0])].layout[0] = split(Dim::H);
  EXPECT_THAT(check(p), Contains(HasSubstr("attend needs whole what is cut in q[T,K,G,H_a]")));
}

TEST(Check, FindsTwoDimsOnOneAxis) {
  Program p = shard(mlp(), plan("tp=2; F:tp"));
  p.values[size_t(first(p, OpKind::Linear).in[0])].layout[0] = split(Dim::T);
  EXPECT_THAT(check(p), Contains(HasSubstr("linear has two dims on one axis in Wgate[D,F_tp]")));
}

TEST(Check, FindsAMoveThatLeadsElsewhere) {
  Program p = shard(mlp(), plan("tp=2; F:tp"));
  for (Step& s : p.steps)
    if (auto* m = std::get_if<Collective>(&s.op)) m->move = Move::ReduceScatter;
  EXPECT_THAT(check(p), Contains(HasSubstr("reduce_scatter does not lead from y[T,D]{U_tp} to y[T,D]")));
}

TEST(Check, FindsAMoveAgainstMeshOrder) {
  Program p = shard(mlp(), plan("a=2,b=2; T:a T:b F:a F:b"));
  for (Step& s : p.steps)
    if (auto* m = std::get_if<Collective>(&s.op); m && m->axis == 0 && m->move == Move::AllGather)
      p.values[size_t(m->in)].layout[1] = p.values[size_t(m->out)].layout[1] = split(Dim::T);
  EXPECT_THAT(check(p), Contains(HasSubstr("all_gather moves h[T_a_b,D] under a cut of the same dim")));
}

TEST(Check, FindsWhatIsReadBeforeItIsThere) {
  Program late = shard(mlp(), plan("tp=2; F:tp"));
  std::swap(late.steps[1], late.steps[2]);
  EXPECT_THAT(check(late), Contains(HasSubstr("h is read before it is there")));
  Program elsewhere = shard(mlp(), plan("none"));
  elsewhere.steps.back().stage = 1;  // and no transfer
  EXPECT_THAT(check(elsewhere), Contains(HasSubstr("y is read before it is there")));
}

// ---- the table of ops -----------------------------------------------------------------------------------------------

TEST(Rule, HasOneRowAnOp) {
  EXPECT_EQ(rule(OpKind::Embed).name, "embed");
  EXPECT_EQ(rule(OpKind::Merge).name, "merge");
  EXPECT_EQ(rule(OpKind::Rescale).name, "rescale");
  EXPECT_EQ(rule(OpKind::Output).name, "output");
  EXPECT_EQ(rule(OpKind::Attend).reduce, Reduce::Softmax);
  EXPECT_FALSE(may_cut(OpKind::Norm, Dim::D));
  EXPECT_TRUE(may_cut(OpKind::Linear, Dim::D));
}

}  // namespace
}  // namespace shardwise
