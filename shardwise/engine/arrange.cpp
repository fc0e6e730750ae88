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

// Which part each of `count` units goes to, in proportion to the room that each part has left, which is used up.
std::vector<size_t> deal(int64_t count, std::vector<int64_t>& room) {
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
  std::vector<size_t> owners;
  for (size_t i = 0; i < n; ++i) owners.insert(owners.end(), size_t((share[i] + 1) / 2), i);
  for (size_t i = n; i-- > 0;) owners.insert(owners.end(), size_t(share[i] / 2), i);
  for (size_t i = 0; i < n; ++i) room[i] -= share[i];
  return owners;
}

// The parts of a group of tokens: their ranges and the room left in each, in units.
struct Group {
  std::vector<Range> cuts;
  std::vector<int64_t> room;
  std::vector<std::vector<int64_t>> tokens;
};

void deal_chunk(Group& group, int64_t first, int64_t count, int64_t unit, const Range* held) {
  std::vector<size_t> owners = deal((count + unit - 1) / unit, group.room);
  if (held != nullptr) {  // swapped with a unit of the part that has the page
    const auto part = size_t(std::find(group.cuts.begin(), group.cuts.end(), *held) - group.cuts.begin());
    if (const auto other = std::find(owners.begin(), owners.end(), part); other != owners.end()) std::swap(*other, owners[0]);
  }
  for (size_t u = 0; u < owners.size(); ++u)
    for (int64_t t = int64_t(u) * unit; t < std::min(count, int64_t(u + 1) * unit); ++t) group.tokens[owners[u]].push_back(first + t);
}

}  // namespace

std::vector<int64_t> arrange(const BatchShape& shape, const Mesh& mesh, const Extent& tokens, const Layout& layout,
                             const std::vector<int>& holders) {
  std::vector<int64_t> order(static_cast<size_t>(tokens.size));
  std::iota(order.begin(), order.end(), int64_t{0});
  Layout by_sequence = layout;
  for (Placement& p : by_sequence.on)
    if (p == split(Dim::T)) p = replicated();
  const std::vector<Range> cuts = ranges(mesh, tokens, layout);
  const int64_t unit = std::max<int64_t>(1, tokens.granule);
  std::vector<int64_t> arranged;
  for (const Range& span : ranges(mesh, tokens, by_sequence)) {
    Group group;
    for (const Range& cut : cuts) {
      const int64_t begin = std::max(cut.begin, span.begin), end = std::min(cut.end(), span.end());
      if (begin >= end) continue;
      if (begin != cut.begin || end != cut.end()) return order;
      group.cuts.push_back(cut), group.room.push_back((cut.size + unit - 1) / unit);
    }
    group.tokens.resize(group.cuts.size());
    for (size_t s = 0; s < shape.chunks.size(); ++s) {
      const int64_t first = tokens.sequences[s];
      if (shape.chunks[s].tokens == 0 || first < span.begin || first >= span.end()) continue;
      Range held;
      if (holders[s] >= 0) held = range(tokens, layout, mesh, holders[s]);
      deal_chunk(group, first, shape.chunks[s].tokens, unit, holders[s] >= 0 ? &held : nullptr);
    }
    for (size_t i = 0; i < group.cuts.size(); ++i) {
      if (int64_t(group.tokens[i].size()) != group.cuts[i].size) return order;  // a part of a unit can not be dealt
      arranged.insert(arranged.end(), group.tokens[i].begin(), group.tokens[i].end());
    }
  }
  return arranged.size() == order.size() ? arranged : order;
}

}  // namespace shardwise
