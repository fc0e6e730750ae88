// Which part of a dim a rank works on. The loader cuts with it, the executor shapes with it, the pricer sizes with it.
#pragma once

#include <cstdint>
#include <vector>

#include "shardwise/mesh/layout.h"

namespace shardwise {

struct Range {
  int64_t begin = 0, size = 0;

  int64_t end() const { return begin + size; }
  friend bool operator==(const Range&, const Range&) = default;
};

struct Extent {
  Dim dim;
  int64_t size;
  int64_t granule = 1;  // cuts fall on its multiples
  // Of K: query heads that share a KV head. K is cut on the scale of query heads, whoever the value belongs to, so that
  // any number of ranks gets even work; the KV heads a rank holds are those that its query heads read, copies included.
  int64_t group = 1;
  bool shared = false;                  // of K: its elements are KV heads, each standing for `group` query heads
  std::vector<int64_t> sequences = {};  // of T, R and S: where each sequence begins

  friend bool operator==(const Extent&, const Extent&) = default;
};

// Part `index` of `whole`, cut in proportion to `weights`, to within one granule: even parts differ by at most one
// granule, the first being among the larger. Where there are more parts than granules some are empty.
Range part(Range whole, int64_t granule, const std::vector<int>& weights, int index);

// What a rank of the mesh works on: the major axis cuts first, the minor axis cuts what that left.
Range range(const Extent&, const Layout&, const Mesh&, int rank);

// Of a shared dim: the elements that this rank alone answers for, so that a sum over all ranks counts each once.
// Elsewhere the same as range().
Range owned(const Extent&, const Layout&, const Mesh&, int rank);

// What it stores of a row of quantised blocks: every block that its part touches. The neighbour holds the shared block
// too.
Range held(Range part, int64_t block, int64_t whole);

// The largest range of any rank.
int64_t largest(const Extent&, const Layout&, const Mesh&);

}  // namespace shardwise
