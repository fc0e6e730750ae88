// Whether a program keeps the rules of the algebra: run on every program that a test makes, and on every plan of a
// user.
#include <algorithm>
#include <set>

#include "shardwise/program/shard.h"

namespace shardwise {
namespace {

class Checker {
 public:
  explicit Checker(const Program& p) : p_(p) {}

  std::vector<std::string> run() {
    for (const Step& s : p_.steps) {
      if (const auto* t = std::get_if<Transfer>(&s.op)) flow({t->in}, t->from_stage, t->out, t->to_stage);
      if (const auto* h = std::get_if<Shift>(&s.op)) flow({h->in}, s.stage, h->out, s.stage);
      if (const auto* m = std::get_if<Collective>(&s.op)) flow({m->in}, s.stage, m->out, s.stage), visit(*m);
      const auto* c = std::get_if<Compute>(&s.op);
      if (!c) continue;
      flow(c->in, s.stage, c->out, s.stage);
      for (int a = 0; a < int(p_.mesh.axes.size()); ++a) visit(*c, a);
    }
    return std::move(faults_);
  }

 private:
  // What a step reads must be there: given with the program, or made before on the same stage.
  void flow(const std::vector<ValueId>& in, int stage, ValueId out, int on) {
    for (ValueId id : in)
      if (p_.value(id).role == Value::Activation && made_.count({id, stage}) == 0)
        fault("{} is read before it is there: {} for {}", p_.value(id).name, p_.value(id), p_.value(out));
    made_.insert({out, on});
  }

  void visit(const Collective& m) {
    if (move_between(p_.value(m.in).layout[m.axis], p_.value(m.out).layout[m.axis]) != m.move)
      fault("{} does not lead from {} to {}", name(m.move), p_.value(m.in), p_.value(m.out));
    for (int a = m.axis + 1; a < int(p_.mesh.axes.size()); ++a)
      for (const Value* v : {&p_.value(m.in), &p_.value(m.out)})
        if (is_split(v->layout[m.axis]) && is_split(v->layout[a]) &&
            v->ordered(v->layout[a].dim, v->layout[m.axis].dim))
          fault("{} moves {} under a cut of the same dim, to {}", name(m.move), *v, p_.value(m.out));
  }

  void visit(const Compute& c, int axis) {
    Placement seen = replicated();
    for (ValueId in : c.in) {
      const Value& v = p_.value(in);
      const Placement at = v.layout[axis];
      if (at.kind == Placement::Partial && c.kind != OpKind::Merge)
        fault("{} reads partial {} for {}", rule(c.kind).name, v, p_.value(c.out));
      if (c.kind == OpKind::Append) {
        const Value& cache = p_.value(c.in.back());
        if (cache.role != Value::Cache) fault("{} to a copy {} gives {}", rule(c.kind).name, cache, p_.value(c.out));
        if (cache.layout[axis] == split(Dim::S)) {
          if (in != c.in.back() && at != replicated() && at != split(Dim::T))
            fault("{} of a part {} to {}", rule(c.kind).name, v, cache);
          continue;
        }
      }
      if (!is_split(at)) continue;
      if (c.kind == OpKind::AttendPart && at.dim == Dim::S) continue;  // the parts of a ring
      if (!may_cut(c.kind, at.dim))
        fault("{} needs whole what is cut in {} for {}", rule(c.kind).name, v, p_.value(c.out));
      if (is_split(seen) && seen != at)
        fault("{} has two dims on one axis in {} for {}", rule(c.kind).name, v, p_.value(c.out));
      seen = at;
    }
    if (c.kind == OpKind::Append) return;
    const Value& first = p_.value(c.in.front());
    const Placement has = p_.value(c.out).layout[axis];
    Placement makes = seen;
    if (is_split(seen) && !p_.value(c.out).has(seen.dim)) makes = partial(rule(c.kind).reduce);
    if (c.kind == OpKind::Merge) makes = first.layout[axis];
    if (c.kind == OpKind::AttendPart && p_.value(c.in[1]).layout[axis].dim == Dim::S && has != seen)
      makes = partial(Reduce::Softmax);  // on an axis that no ring goes along
    if (has != makes) fault("{} of {} can not make {}", rule(c.kind).name, first, p_.value(c.out));
  }

  void fault(std::string_view format, std::string_view what, const Value& a, const Value& b) {
    faults_.push_back(fmt::format(fmt::runtime(format), what, text(a, p_.mesh), text(b, p_.mesh)));
  }

  const Program& p_;
  std::set<std::pair<ValueId, int>> made_;  // values, and the stage they are on
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> check(const Program& p) { return Checker(p).run(); }

}  // namespace shardwise
