// Traffic by step: each move by the parts of the rank itself.
#include "shardwise/program/traffic.h"

namespace shardwise {

double sent_bytes(const Program& p, const Step& s, int rank) {
  auto bytes = [&](ValueId id) { return local_bytes(p.value(id), p.value(id).layout, p.mesh, rank); };
  if (const auto* t = std::get_if<Transfer>(&s.op)) return p.stage(rank) == t->from_stage ? bytes(t->in) : 0;
  if (s.stage != p.stage(rank)) return 0;
  if (const auto* m = std::get_if<Collective>(&s.op))
    return wire_bytes(m->move, bytes(m->in), bytes(m->out), p.mesh.size(m->axis));
  if (const auto* h = std::get_if<Shift>(&s.op)) return bytes(h->in);
  return 0;
}

double sent_bytes(const Program& p, int rank) {
  double bytes = 0;
  for (const Step& s : p.steps) bytes += sent_bytes(p, s, rank);
  return bytes;
}

}  // namespace shardwise
