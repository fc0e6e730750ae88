// The ring pass: a gather of cache rows that only an attend reads becomes shifts, partial attends and merges.
#include <map>
#include <optional>

#include "shardwise/program/shard.h"

namespace shardwise {
namespace {

class Ring {
 public:
  explicit Ring(const Program& p) : p_(p), out_{p.mesh, p.stage_axis, p.values, {}} {}

  Program run() {
    for (const Step& s : p_.steps) {
      const auto* g = std::get_if<Collective>(&s.op);
      if (g && g->move == Move::AllGather && p_.value(g->in).layout[g->axis] == split(Dim::S) &&
          p_.value(g->in).has(Dim::S))
        gathers_[g->out] = out_.steps.size();
      const auto* c = std::get_if<Compute>(&s.op);
      if (c && c->kind == OpKind::Attend && gathers_.count(c->in[1]) > 0)
        pass_on(s, *c);
      else
        out_.steps.push_back(s);
    }
    return std::move(out_);
  }

 private:
  void pass_on(const Step& s, const Compute& attend) {
    const size_t at = gathers_[attend.in[1]];
    const auto gather = std::get<Collective>(out_.steps[at].op);
    out_.steps.erase(out_.steps.begin() + std::ptrdiff_t(at));
    for (auto& [id, where] : gathers_) where -= where > at;
    auto emit = [&](auto op) { out_.steps.push_back({op, s.layer, s.stage}); };

    const int n = p_.mesh.size(gather.axis);
    ValueId rows = gather.in;
    std::optional<ValueId> so_far;
    for (int hop = 0; hop < n; ++hop) {
      const ValueId here = rows;
      if (hop + 1 < n) {  // sent on before it is read, so that the wire works meanwhile
        Value next = out_.value(here);
        next.role = Value::Activation;
        ++next.layout[gather.axis].hops;
        rows = out_.add(std::move(next));
        emit(Shift{gather.axis, here, rows});
      }
      Compute part = attend;
      part.kind = OpKind::AttendPart, part.in[1] = here, part.out = partial_result(attend);
      emit(part);
      if (!so_far) {
        so_far = part.out;
        continue;
      }
      const ValueId merged = hop + 1 < n ? partial_result(attend) : attend.out;
      emit(Compute{OpKind::Merge, {*so_far, part.out}, merged});
      so_far = merged;
    }
  }

  ValueId partial_result(const Compute& attend) {
    Value v = p_.value(attend.out);
    v.softmax = true, v.pinned = false;
    return out_.add(std::move(v));
  }

  const Program& p_;
  Program out_;
  std::map<ValueId, size_t> gathers_;  // of S, by what they make: where they stand in out_
};

}  // namespace

Program ring(const Program& p) { return Ring(p).run(); }

}  // namespace shardwise
