// The sharding pass: chooses placements for all axes of an op first, then moves its operands.
#include "shardwise/program/shard.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Append stores the tokens a rank has into the rows that rank has: where the cache is cut along S, tokens stay where
// they are, cut along T or not. Not by sequence, for that changes what the other axes mean by one: with "a=2,b=2; T:b
// B:b S:a B:a" tokens cut by B_a and B_b would leave rows on ranks that B_b of the cache gives to others.
bool appends(const Program& p, const Compute& c, int axis) {
  return c.kind == OpKind::Append && p.value(c.in.back()).layout[axis] == split(Dim::S);
}

bool may_append(Placement at) { return at == replicated() || at == split(Dim::T); }

class Sharder {
 public:
  Sharder(const Program& logical, const Plan& plan) : logical_(logical), plan_(plan) {
    out_.mesh = plan.mesh;
    out_.stage_axis = plan.stage_axis();
    out_.values = logical.values;
    for (Value& v : out_.values)
      if (v.role != Value::Activation) v.layout = plan.layout(v);
    current_.resize(out_.values.size());
    for (size_t i = 0; i < current_.size(); ++i) current_[i] = ValueId(i);
  }

  Program run() {
    int layers = 0;
    for (const Step& s : logical_.steps) layers = std::max(layers, s.layer + 1);
    for (const Step& s : logical_.steps) place(std::get<Compute>(s.op), s.layer, plan_.stage(s.layer, layers));
    return std::move(out_);
  }

 private:
  void place(Compute c, int layer, int stage) {
    layer_ = layer, stage_ = stage;
    const std::vector<ValueId> logical = c.in;
    for (ValueId& in : c.in) in = bring(in);

    Layout agreed, out;
    for (int a = 0; a < axes(); ++a) agreed[a] = agree(c, a);
    for (int a = 0; a < axes(); ++a) out[a] = appends(out_, c, a) ? split(Dim::S) : result(c, agreed[a]);
    for (size_t i = 0; i < c.in.size(); ++i) {
      Layout to = out_.value(c.in[i]).layout;
      for (int a = 0; a < axes(); ++a)
        if (!appends(out_, c, a))
          to[a] = wanted(out_.value(c.in[i]), agreed[a]);
        else if (i + 1 < c.in.size() && !may_append(to[a]))
          to[a] = replicated();
      current_[size_t(logical[i])] = redistribute(c.in[i], to);  // the next reader finds it moved
    }
    for (size_t i = 0; i < c.in.size(); ++i) c.in[i] = current_[size_t(logical[i])];

    Value& v = out_.values[size_t(c.out)];
    v.layout = out, v.stage = stage, v.softmax = is_softmax_partial(out);
    out_.steps.push_back({c, layer, stage});
    if (v.pinned) current_[size_t(c.out)] = redistribute(c.out, plan_.layout(v));
  }

  bool is_softmax_partial(const Layout& l) const {
    for (int a = 0; a < axes(); ++a)
      if (l[a] == partial(Reduce::Softmax)) return true;
    return false;
  }

  // The value as this stage has it.
  ValueId bring(ValueId logical) {
    const ValueId id = current_[size_t(logical)];
    Value there = out_.value(id);
    const int from = std::exchange(there.stage, stage_);
    if (from == stage_ || there.role == Value::Input) return id;
    if (there.role != Value::Activation) {
      CHECK(from < 0, "{} is on stage {} and asked for on {}", there.name, from, stage_);
      out_.values[size_t(id)].stage = stage_;
      return id;
    }
    const ValueId arrived = current_[size_t(logical)] = out_.add(there);
    out_.steps.push_back({Transfer{from, stage_, id, arrived}, layer_, from});
    return arrived;
  }

  // The dim that `c` is cut by along one axis: of those its operands are cut by now, or none, the one that costs the
  // fewest bytes to agree on and to sum up after. New rows go to the cache, whatever that costs: by bytes "a=2; TB:a"
  // slices the cache for nothing, and what is appended to the copy is gone at the next step.
  Placement agree(const Compute& c, int axis) const {
    if (out_.mesh.size(axis) == 1) return replicated();
    if (c.kind == OpKind::Append) return out_.value(c.in.back()).layout[axis];
    std::vector<Placement> candidates = {replicated()};
    for (ValueId in : c.in) {
      const Placement at = out_.value(in).layout[axis];
      if (is_split(at) && may_cut(c.kind, at.dim)) candidates.push_back(at);
    }
    Placement best;
    double least = kNever;
    for (Placement cand : candidates) {
      double bytes = 0;
      for (ValueId in : c.in) bytes += cost(in, axis, wanted(out_.value(in), cand));
      if (result(c, cand).kind == Placement::Partial) bytes += sum_cost(c, axis);
      if (bytes < least || (bytes == least && bytes < kNever && is_split(cand))) least = bytes, best = cand;
    }
    CHECK(least < kNever, "{} of layer {} can not be placed on axis {}", rule(c.kind).name, layer_,
          out_.mesh.axes[size_t(axis)].name);
    return best;
  }

  Placement result(const Compute& c, Placement agreed) const {
    if (!is_split(agreed) || out_.value(c.out).has(agreed.dim)) return agreed;
    return partial(rule(c.kind).reduce);
  }

  static Placement wanted(const Value& v, Placement agreed) {
    return is_split(agreed) && v.has(agreed.dim) ? agreed : replicated();
  }

  // What it takes to put a partial result together, if the other axes cut it as they cut the first operand.
  double sum_cost(const Compute& c, int axis) const {
    Layout others = out_.value(c.in[0]).layout;
    others[axis] = replicated();
    const int n = out_.mesh.size(axis);
    return wire_bytes(Move::ReduceScatter, 0, largest_bytes(out_.value(c.out), others, out_.mesh) / n, n);
  }

  // Matrices stay where they lie: they are packed for the kernels, and a part of a quantised one holds blocks that its
  // neighbour holds too. Rows of the cache are only gathered, or read in part.
  double cost(ValueId id, int axis, Placement to) const {
    const Value& v = out_.value(id);
    const auto move = move_between(v.layout[axis], to);
    if (!move) return kNever;
    if (*move == Move::None || v.role == Value::Input) return 0;
    if (v.role == Value::Weight && v.outputs > 0) return kNever;
    if (v.has(Dim::S) && cut_below(v, axis, to)) return kNever;
    if (*move == Move::Slice) return 0;
    if (v.has(Dim::S) && (*move != Move::AllGather || v.layout[axis].dim == Dim::K)) return kNever;
    Layout moved = v.layout;
    moved[axis] = to;
    return wire_bytes(*move, largest_bytes(v, v.layout, out_.mesh), largest_bytes(v, moved, out_.mesh),
                      out_.mesh.size(axis));
  }

  ValueId redistribute(ValueId id, int axis, Placement to) {
    const auto move = move_between(out_.value(id).layout[axis], to);
    CHECK(move, "{} can not become partial on axis {}", out_.value(id).name, out_.mesh.axes[size_t(axis)].name);
    if (*move == Move::None || out_.mesh.size(axis) == 1) return id;
    Value moved = out_.value(id);
    moved.layout[axis] = to;
    moved.softmax = is_softmax_partial(moved.layout);
    if (moved.role != Value::Input) moved.role = Value::Activation;
    const bool is_input = moved.role == Value::Input;
    const ValueId result = out_.add(std::move(moved));
    if (!is_input) out_.steps.push_back({Collective{*move, axis, id, result}, layer_, stage_});
    return result;
  }

  // Whether a move along an axis would change what a cut along a minor one means: rows of the cache can not follow.
  bool cut_below(const Value& v, int axis, Placement to) const {
    for (int a = axis + 1; a < axes(); ++a)
      for (Placement p : {v.layout[axis], to})
        if (is_split(p) && is_split(v.layout[a]) && v.ordered(p.dim, v.layout[a].dim)) return true;
    return false;
  }

  // Uncuts from the minor axis up, cuts from the major axis down: the order that mesh order asks for.
  ValueId redistribute(ValueId id, const Layout& to) {
    for (int a = axes() - 1; a >= 0; --a) {
      const Placement at = out_.value(id).layout[a];
      if (is_split(at) && (!is_split(to[a]) || moves_above(id, to, a, at.dim))) id = redistribute(id, a, replicated());
    }
    for (int a = 0; a < axes(); ++a) id = redistribute(id, a, to[a]);
    return id;
  }

  bool moves_above(ValueId id, const Layout& to, int axis, Dim d) const {
    for (int a = 0; a < axis; ++a) {
      const Placement at = out_.value(id).layout[a];
      for (Placement p : {at, to[a]})
        if (at != to[a] && is_split(p) && out_.value(id).ordered(p.dim, d)) return true;
    }
    return false;
  }

  int axes() const { return int(out_.mesh.axes.size()); }

  const Program& logical_;
  const Plan& plan_;
  Program out_;
  std::vector<ValueId> current_;  // logical value -> its latest form
  int layer_ = 0, stage_ = 0;
};

}  // namespace

Program shard(const Program& logical, const Plan& plan) { return Sharder(logical, plan).run(); }

Program compile(const Program& logical, const Plan& plan) {
  Program p = shard(logical, plan);
  return plan.attention == Attention::Ring ? ring(p) : p;
}

}  // namespace shardwise
