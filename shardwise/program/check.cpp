// Whether a program keeps the rules of the algebra: run on every program that a test makes, and on every plan of a
// user.
#include <algorithm>

#include "shardwise/program/shard.h"

namespace shardwise {
namespace {

class Checker {
 public:
  explicit Checker(const Program& p) : p_(p) {}

  std::vector<std::string> run() {
    for (const Step& s : p_.steps) {
      if (const auto* m = std::get_if<Collective>(&s.op)) visit(*m);
      if (const auto* c = std::get_if<Compute>(&s.op))
        for (int a = 0; a < int(p_.mesh.axes.size()); ++a) visit(*c, a);
    }
    return std::move(faults_);
  }

 private:
  void visit(const Collective& m) {
    if (move_between(p_.value(m.in).layout[m.axis], p_.value(m.out).layout[m.axis]) != m.move)
      fault("{} does not lead from {} to {}", name(m.move), p_.value(m.in), p_.value(m.out));
    for (int a = m.axis + 1; a < int(p_.mesh.axes.size()); ++a)
      for (const Value* v : {&p_.value(m.in), &p_.value(m.out)})
        if (is_split(v->layout[m.axis]) && meet(v->layout[a], v->layout[m.axis].dim))
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
  }

  void fault(std::string_view format, std::string_view what, const Value& a, const Value& b) {
    faults_.push_back(fmt::format(fmt::runtime(format), what, text(a, p_.mesh), text(b, p_.mesh)));
  }

  const Program& p_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> check(const Program& p) { return Checker(p).run(); }

}  // namespace shardwise
