// Programs as text. The printed program is the program that runs.
#include "shardwise/program/shard.h"

namespace shardwise {
namespace {

std::string dim_text(const Value& v, const Extent& e, const Mesh& mesh) {
  std::string s(1, letter(e.dim));
  for (int a = 0; a < int(mesh.axes.size()); ++a)
    if (meet(v.layout[a], e.dim) && mesh.size(a) > 1)
      s += (v.layout[a].dim == Dim::B ? "_B" : "_") + mesh.axes[size_t(a)].name + std::string(v.layout[a].hops, '\'');
  return e.dim == Dim::K && !e.shared && e.group > 1 ? s + ",G" : s;
}

}  // namespace

std::string text(const Value& v, const Mesh& mesh) {
  std::string dims;
  auto list = [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) dims += (dims.empty() ? "" : ",") + dim_text(v, v.shape[i], mesh);
  };
  list(size_t(v.outputs), v.shape.size());  // of a matrix: inputs, then outputs, as a product is read
  list(0, size_t(v.outputs));
  std::string s = v.name + "[" + dims + "]";
  for (int a = 0; a < int(mesh.axes.size()); ++a)
    if (v.layout[a].kind == Placement::Partial && mesh.size(a) > 1)
      s += (v.layout[a].reduce == Reduce::Sum ? "{U_" : "{softmax_") + mesh.axes[size_t(a)].name + "}";
  return s;
}

std::string text(const Program& p, const Step& s) {
  auto value = [&](ValueId id) { return text(p.value(id), p.mesh); };
  auto axis = [&](int a) { return p.mesh.axes[size_t(a)].name; };
  if (const auto* c = std::get_if<Compute>(&s.op)) {
    std::string line(rule(c->kind).name);
    for (ValueId in : c->in) line += " " + value(in);
    return line + " -> " + value(c->out);
  }
  if (const auto* m = std::get_if<Collective>(&s.op))
    return std::string(name(m->move)) + "_" + axis(m->axis) + " " + value(m->in) + " -> " + value(m->out);
  if (const auto* h = std::get_if<Shift>(&s.op))
    return "shift_" + axis(h->axis) + " " + value(h->in) + " -> " + value(h->out);
  const auto& t = std::get<Transfer>(s.op);
  return fmt::format("transfer {}->{} {}", t.from_stage, t.to_stage, value(t.in));
}

std::string explain(const Program& p) {
  std::string out;
  for (const Step& s : p.steps) out += fmt::format("{}.{}  {}\n", s.stage, s.layer, text(p, s));
  return out;
}

}  // namespace shardwise
