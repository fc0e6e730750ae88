// What ranks hold of a weight, as the program of a plan says it.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "shardwise/model/forward.h"
#include "shardwise/program/shard.h"

namespace shardwise {

// The program of a prefill of 64 tokens.
inline Program program_of(const ModelSpec& spec, const std::string& plan) {
  const auto parsed = parse_plan(plan);
  if (!parsed) throw std::runtime_error(parsed.error().what);
  return compile(forward(spec, {.chunks = {{0, 64, 1}}, .unit = 16}), *parsed);
}

inline const Value& weight_of(const Program& p, const std::string& name) {
  const auto v = std::find_if(p.values.begin(), p.values.end(),
                              [&](const Value& x) { return x.role == Value::Weight && x.name == name; });
  if (v == p.values.end()) throw std::runtime_error("no weight " + name);
  return *v;
}

// Rows of the tensor in the file that hold this weight of the first layer.
inline Range rows_in_file(const Program& p, const std::string& name, int rank) {
  const Value& v = weight_of(p, name);
  const Range r = rows(v, v.layout, p.mesh, rank);
  return {v.first_row + r.begin, r.size};
}

}  // namespace shardwise
