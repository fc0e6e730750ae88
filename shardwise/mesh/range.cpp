// range() walks the axes from major to minor and cuts what is left; all else follows from it.
#include "shardwise/mesh/range.h"

#include <algorithm>
#include <numeric>

namespace shardwise {

namespace {

// The dim on the scale on which it is cut.
int64_t scale(const Extent& e) { return e.shared ? e.size * e.group : e.size; }

Range cut(const Extent& e, const Layout& layout, const Mesh& mesh, int rank) {
  Range r{0, scale(e)};
  Range sequences{0, int64_t(e.sequences.size())};
  auto first = [&](int64_t s) { return s < int64_t(e.sequences.size()) ? e.sequences[size_t(s)] : e.size; };
  for (int a = 0; a < int(mesh.axes.size()); ++a) {
    if (!is_split(layout[a])) continue;
    const int n = mesh.size(a);
    const int index = (mesh.coord(rank, a) + n - layout[a].hops % n) % n;
    if (layout[a].dim == e.dim) r = part(r, e.granule, mesh.weights(e.dim, a), index);
    if (layout[a].dim != Dim::B || e.sequences.empty()) continue;
    sequences = part(sequences, 1, mesh.weights(Dim::B, a), index);
    const int64_t begin = std::max(r.begin, first(sequences.begin));
    const int64_t end = std::min(r.end(), first(sequences.end()));
    r = {begin, std::max<int64_t>(0, end - begin)};
  }
  return r;
}

int64_t up(int64_t x, int64_t step) { return (x + step - 1) / step; }

}  // namespace

Range part(Range whole, int64_t granule, const std::vector<int>& weights, int index) {
  const int64_t granules = up(whole.size, granule);
  const int64_t total = std::accumulate(weights.begin(), weights.end(), int64_t{0});
  auto edge = [&](int i) {  // rounded up: the first parts get the odd granules
    const int64_t before = std::accumulate(weights.begin(), weights.begin() + i, int64_t{0});
    return std::min(whole.size, up(granules * before, total) * granule);
  };
  return {whole.begin + edge(index), edge(index + 1) - edge(index)};
}

Range range(const Extent& e, const Layout& layout, const Mesh& mesh, int rank) {
  const Range r = cut(e, layout, mesh, rank);
  if (!e.shared) return r;
  if (r.size == 0) return {r.begin / e.group, 0};
  const int64_t begin = r.begin / e.group;
  return {begin, up(r.end(), e.group) - begin};
}

Range owned(const Extent& e, const Layout& layout, const Mesh& mesh, int rank) {
  const Range r = cut(e, layout, mesh, rank);
  if (!e.shared) return r;
  const int64_t begin = up(r.begin, e.group);
  return {begin, std::max<int64_t>(0, up(r.end(), e.group) - begin)};
}

Range held(Range part, int64_t block, int64_t whole) {
  if (part.size == 0) return part;
  const int64_t begin = part.begin / block * block;
  return {begin, std::min(whole, up(part.end(), block) * block) - begin};
}

int64_t largest(const Extent& e, const Layout& layout, const Mesh& mesh) {
  // Each axis cuts one dim, so only the coords along axes that cut this one matter.
  std::vector<int> axes;
  for (int a = 0; a < int(mesh.axes.size()); ++a)
    if (is_split(layout[a]) && (layout[a].dim == e.dim || (layout[a].dim == Dim::B && !e.sequences.empty())))
      axes.push_back(a);
  if (axes.empty()) return e.size;
  int64_t most = 0;
  std::vector<int> strides(mesh.axes.size(), 1);
  for (int a = int(mesh.axes.size()) - 2; a >= 0; --a) strides[size_t(a)] = strides[size_t(a) + 1] * mesh.size(a + 1);
  auto visit = [&](auto&& self, size_t i, int rank) -> void {
    if (i == axes.size()) {
      most = std::max(most, range(e, layout, mesh, rank).size);
      return;
    }
    for (int c = 0; c < mesh.size(axes[i]); ++c) self(self, i + 1, rank + c * strides[size_t(axes[i])]);
  };
  visit(visit, 0, 0);
  return most;
}

}  // namespace shardwise
