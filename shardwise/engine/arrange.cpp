// Zigzag as a permutation: with it in place, cuts of T stay plain ranges everywhere else.
#include "shardwise/engine/arrange.h"

#include <algorithm>
#include <numeric>

namespace shardwise {
namespace {

// The distinct ranges that ranks have under a layout, in order; empty ones left out.
std::vector<Range> ranges(const Mesh& mesh, const Extent& tokens, const Layout& layout) {
  std::vector<Range> all;
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    if (const Range r = range(tokens, layout, mesh, rank); r.size > 0 && std::find(all.begin(), all.end(), r) == all.end()) all.push_back(r);
  std::sort(all.begin(), all.end(), [](Range a, Range b) { return a.begin < b.begin; });
  return all;
}

// Deals `count` tokens from `first` on to parts in proportion to the room that each has left.
void deal(int64_t first, int64_t count, std::vector<int64_t>& room, std::vector<std::vector<int64_t>>& parts) {
  const size_t n = room.size();
  const int64_t total = std::accumulate(room.begin(), room.end(), int64_t{0});
  std::vector<int64_t> share(n);
  int64_t left = count;
  for (size_t i = 0; i < n; ++i) share[i] = count * room[i] / total, left -= share[i];
  for (; left > 0; --left) {
    size_t most = 0;
    for (size_t i = 1; i < n; ++i)
      if (room[i] - share[i] > room[most] - share[most]) most = i;
    ++share[most];
  }
  int64_t next = first;
  auto give = [&](size_t i, int64_t tokens) {
    for (int64_t t = 0; t < tokens; ++t) parts[i].push_back(next++);
  };
  for (size_t i = 0; i < n; ++i) give(i, (share[i] + 1) / 2);
  for (size_t i = n; i-- > 0;) give(i, share[i] / 2);
  for (size_t i = 0; i < n; ++i) room[i] -= share[i];
}

}  // namespace

std::vector<int64_t> arrange(const BatchShape& shape, const Mesh& mesh, const Extent& tokens, const Layout& layout) {
  std::vector<int64_t> order(static_cast<size_t>(tokens.size));
  std::iota(order.begin(), order.end(), int64_t{0});
  Layout by_sequence = layout;
  for (Placement& p : by_sequence.on)
    if (p == split(Dim::T)) p = replicated();
  const std::vector<Range> groups = ranges(mesh, tokens, by_sequence), cuts = ranges(mesh, tokens, layout);
  std::vector<int64_t> arranged;
  for (const Range& group : groups) {
    std::vector<int64_t> room;
    for (const Range& cut : cuts) {
      const int64_t begin = std::max(cut.begin, group.begin), end = std::min(cut.end(), group.end());
      if (begin < end && (begin != cut.begin || end != cut.end())) return order;
      if (begin < end) room.push_back(cut.size);
    }
    if (std::accumulate(room.begin(), room.end(), int64_t{0}) != group.size) return order;
    std::vector<std::vector<int64_t>> parts(room.size());
    for (size_t s = 0; s < shape.chunks.size(); ++s)
      if (const int64_t first = tokens.sequences[s]; shape.chunks[s].tokens > 0 && first >= group.begin && first < group.end())
        deal(first, shape.chunks[s].tokens, room, parts);
    for (const auto& p : parts) arranged.insert(arranged.end(), p.begin(), p.end());
  }
  return arranged.size() == order.size() ? arranged : order;
}

}  // namespace shardwise
