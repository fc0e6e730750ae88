// Tables and sizes of programs; nothing here decides a layout.
#include "shardwise/program/program.h"

#include <algorithm>

#include "shardwise/base/check.h"

namespace shardwise {

const Extent* Value::find(Dim d) const {
  for (const Extent& e : shape)
    if (e.dim == d) return &e;
  return nullptr;
}

bool Value::has(Dim d) const {
  if (d == Dim::B)
    return std::any_of(shape.begin(), shape.end(), [](const Extent& e) { return along_sequences(e.dim); });
  return find(d) != nullptr;
}

bool Value::wide() const {
  return softmax ||
         std::any_of(layout.on.begin(), layout.on.end(), [](Placement p) { return p.kind == Placement::Partial; });
}

int64_t BatchShape::tokens() const {
  int64_t n = 0;
  for (const Chunk& c : chunks) n += c.tokens;
  return n;
}

int64_t BatchShape::wanted() const {
  int64_t n = 0;
  for (const Chunk& c : chunks) n += c.wanted;
  return n;
}

int64_t BatchShape::rows() const {
  int64_t n = 0;
  for (const Chunk& c : chunks) n += c.tokens > 0 ? c.past + c.tokens : 0;
  return n;
}

ValueId Program::add(Value v) {
  values.push_back(std::move(v));
  return ValueId(values.size()) - 1;
}

ValueId Program::compute(Compute c, Value out, int layer) {
  c.out = add(std::move(out));
  steps.push_back({std::move(c), layer, 0});
  return ValueId(values.size()) - 1;
}

const OpRule& rule(OpKind kind) {
  static const OpRule rules[] = {
      {"embed", 0, {}},
      {"norm", 4, {Dim::D, Dim::H}},
      {"linear", 2, {}},
      {"bias", 1, {}},
      {"rope", 3, {Dim::H}},
      {"append", 0, {Dim::T, Dim::H}},
      {"attend", 4, {Dim::H}, Reduce::Softmax},
      {"attend_part", 4, {Dim::H}, Reduce::Softmax},
      {"merge", 4, {Dim::H}},
      {"gate", 5, {}},
      {"add", 1, {}},
      {"select", 0, {}},
      {"sum_squares", 2, {}},
      {"rescale", 3, {}},
      {"output", 0, {Dim::V}},
  };
  return rules[size_t(kind)];
}

bool may_cut(OpKind kind, Dim d) {
  const std::vector<Dim>& whole = rule(kind).whole;
  return std::find(whole.begin(), whole.end(), d) == whole.end();
}

namespace {

// The run of a matrix's rows or columns that the dims [first, last) of its shape make: only the outermost may be cut.
Range run(const Value& v, size_t first, size_t last, const Layout& layout, const Mesh& mesh, int rank) {
  Range r{0, 1};
  for (size_t i = first; i < last; ++i) {
    const Range own = range(v.shape[i], layout, mesh, rank);
    CHECK(i == first || own.size == v.shape[i].size, "{}: dim {} is cut below another", v.name, letter(v.shape[i].dim));
    r = {r.begin * v.shape[i].size + (i == first ? own.begin : 0), r.size * own.size};
  }
  return r;
}

}  // namespace

Range rows(const Value& v, const Layout& layout, const Mesh& mesh, int rank) {
  return run(v, 0, size_t(v.outputs), layout, mesh, rank);
}

Range columns(const Value& v, const Layout& layout, const Mesh& mesh, int rank) {
  return run(v, size_t(v.outputs), v.shape.size(), layout, mesh, rank);
}

Range held_columns(const Value& v, const Layout& layout, const Mesh& mesh, int rank) {
  int64_t whole = 1;
  for (size_t i = size_t(v.outputs); i < v.shape.size(); ++i) whole *= v.shape[i].size;
  return held(columns(v, layout, mesh, rank), info(v.dtype).block, whole);
}

double local_bytes(const Value& v, const Layout& layout, const Mesh& mesh, int rank) {
  const double element = double(info(v.dtype).bytes) / double(info(v.dtype).block);
  if (v.outputs > 0)
    return double(rows(v, layout, mesh, rank).size) * double(held_columns(v, layout, mesh, rank).size) * element;
  double n = element * (v.wide() ? 2 : 1);
  for (const Extent& e : v.shape)
    n *= double(range(e, layout, mesh, rank).size + (v.softmax && e.dim == Dim::H ? 2 : 0));
  return n;
}

double largest_bytes(const Value& v, const Layout& layout, const Mesh& mesh) {
  double n = double(info(v.dtype).bytes) / double(info(v.dtype).block) * (v.wide() ? 2 : 1);
  for (const Extent& e : v.shape) n *= double(largest(e, layout, mesh) + (v.softmax && e.dim == Dim::H ? 2 : 0));
  return n;
}

}  // namespace shardwise
