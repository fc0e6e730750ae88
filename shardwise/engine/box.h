// The part of a tensor that a rank has, as a box in global coordinates, and copies between boxes.
#pragma once

#include <vector>

#include "shardwise/program/program.h"

namespace shardwise {

struct Box {
  std::vector<Range> dims;  // one per dim of the shape, row-major

  int64_t count() const;
  Box operator&(const Box&) const;  // what both have; empty where they do not meet
};

// What `rank` has of a value. A partial softmax has two more elements along H.
Box box(const Value&, const Layout&, const Mesh&, int rank);
inline Box box(const Program& p, ValueId id, int rank) { return box(p.value(id), p.value(id).layout, p.mesh, rank); }

// Copies `region`, which both boxes contain, from a dense tensor of one box to a dense tensor of the other.
void copy(const Box& from, const std::byte* src, const Box& to, std::byte* dst, const Box& region,
          int64_t element_bytes);

}  // namespace shardwise
