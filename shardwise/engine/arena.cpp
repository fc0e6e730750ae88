// Linear scan over the steps; lifetimes are closed at both ends, so no op reads and writes the same bytes unless in
// place.
#include "shardwise/engine/arena.h"

#include <algorithm>

#include "shardwise/engine/box.h"

namespace shardwise {
namespace {

constexpr int64_t kAlign = 64;

struct Life {
  int first = -1, last = -1;
  int64_t bytes = 0;
};

// A value that another one continues in place.
std::vector<ValueId> aliases(const Program& p) {
  std::vector<ValueId> root(p.values.size());
  for (size_t i = 0; i < root.size(); ++i) root[i] = ValueId(i);
  for (const Step& s : p.steps) {
    if (const auto* c = std::get_if<Compute>(&s.op); c && c->kind == OpKind::Output)
      root[size_t(c->out)] = root[size_t(c->in[0])];
  }
  return root;
}

template <class Visit>
void each_value(const Step& s, int stage, Visit&& visit) {
  if (const auto* t = std::get_if<Transfer>(&s.op)) {
    if (stage == t->from_stage) visit(t->in);
    if (stage == t->to_stage) visit(t->out);
    return;
  }
  if (s.stage != stage) return;
  if (const auto* c = std::get_if<Compute>(&s.op)) {
    for (ValueId in : c->in) visit(in);
    visit(c->out);
  } else if (const auto* m = std::get_if<Collective>(&s.op)) {
    visit(m->in), visit(m->out);
  }
}

}  // namespace

ArenaPlan plan_arena(const Program& p, int rank) {
  const std::vector<ValueId> root = aliases(p);
  std::vector<Life> lives(p.values.size());
  std::vector<ValueId> order;
  for (int i = 0; i < int(p.steps.size()); ++i)
    each_value(p.steps[size_t(i)], p.stage(rank), [&](ValueId id) {
      const Value& v = p.value(id);
      if (v.role != Value::Activation || v.has(Dim::S)) return;
      Life& life = lives[size_t(root[size_t(id)])];
      if (life.first < 0) life.first = i, order.push_back(root[size_t(id)]);
      life.last = i;
      life.bytes = std::max(life.bytes, (box(p, id, rank).count() * (v.wide() ? 8 : 4) + kAlign - 1) / kAlign * kAlign);
    });

  ArenaPlan plan{std::vector<int64_t>(p.values.size(), -1), 0};
  std::vector<ValueId> active;  // by offset
  for (ValueId id : order) {
    const Life& life = lives[size_t(id)];
    std::erase_if(active, [&](ValueId other) { return lives[size_t(other)].last < life.first; });
    int64_t at = 0;
    auto next = active.begin();
    for (; next != active.end() && plan.offset[size_t(*next)] < at + life.bytes; ++next)
      at = std::max(at, plan.offset[size_t(*next)] + lives[size_t(*next)].bytes);
    active.insert(next, id);
    plan.offset[size_t(id)] = at;
    plan.bytes = std::max(plan.bytes, at + life.bytes);
  }
  for (size_t i = 0; i < root.size(); ++i) plan.offset[i] = plan.offset[size_t(root[i])];
  return plan;
}

}  // namespace shardwise
