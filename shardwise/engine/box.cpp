// Boxes are walked a row at a time: the innermost dim is contiguous in both tensors.
#include "shardwise/engine/box.h"

#include <algorithm>
#include <cstring>

namespace shardwise {

int64_t Box::count() const {
  int64_t n = 1;
  for (const Range& r : dims) n *= r.size;
  return n;
}

Box Box::operator&(const Box& o) const {
  Box both;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t begin = std::max(dims[i].begin, o.dims[i].begin), end = std::min(dims[i].end(), o.dims[i].end());
    both.dims.push_back({begin, std::max<int64_t>(0, end - begin)});
  }
  return both;
}

Box box(const Value& v, const Layout& layout, const Mesh& mesh, int rank) {
  Box b;
  for (const Extent& e : v.shape) {
    Range r = range(e, layout, mesh, rank);
    r.size += v.softmax && e.dim == Dim::H ? 2 : 0;
    b.dims.push_back(r);
  }
  return b;
}

void copy(const Box& from, const std::byte* src, const Box& to, std::byte* dst, const Box& region,
          int64_t element_bytes) {
  if (region.count() == 0) return;
  const size_t last = region.dims.size() - 1;
  auto walk = [&](auto&& self, size_t d, int64_t s, int64_t t) -> void {
    s = s * from.dims[d].size + region.dims[d].begin - from.dims[d].begin;
    t = t * to.dims[d].size + region.dims[d].begin - to.dims[d].begin;
    if (d == last) {
      std::memcpy(dst + t * element_bytes, src + s * element_bytes, size_t(region.dims[d].size * element_bytes));
      return;
    }
    for (int64_t i = 0; i < region.dims[d].size; ++i) self(self, d + 1, s + i, t + i);
  };
  walk(walk, 0, 0, 0);
}

}  // namespace shardwise
