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
    if (const Range r = range(tokens, layout, mesh, rank);
        r.size > 0 && std::find(all.begin(), all.end(), r) == all.end())
      all.push_back(r);
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

constexpr size_t kAnywhere = ~size_t{0};

// Some neighbouring tokens of a sequence, where they go, and where they should go.
struct Unit {
  int64_t first, tokens;
  size_t part, wanted;
};

// Units that should go elsewhere change places with units that may go anywhere. Whether all are where they should be.
bool settle(std::vector<Unit>& units) {
  for (Unit& u : units) {
    if (u.wanted == kAnywhere || u.part == u.wanted) continue;
    const auto other = std::find_if(units.begin(), units.end(),
                                    [&](const Unit& o) { return o.part == u.wanted && o.wanted == kAnywhere; });
    if (other == units.end()) return false;
    std::swap(u.part, other->part);
  }
  return true;
}

}  // namespace

std::optional<std::vector<int64_t>> arrange(const BatchShape& shape, const Mesh& mesh, const Extent& tokens,
                                            const Layout& layout, const std::vector<int>& holders) {
  std::vector<int64_t> order(static_cast<size_t>(tokens.size));
  std::iota(order.begin(), order.end(), int64_t{0});
  Layout by_sequence = layout;
  for (Placement& p : by_sequence.on)
    if (p == split(Dim::T)) p = replicated();
  const std::vector<Range> cuts = ranges(mesh, tokens, layout);
  const int64_t unit = std::max<int64_t>(1, tokens.granule);
  std::vector<int64_t> arranged;
  for (const Range& span : ranges(mesh, tokens, by_sequence)) {
    std::vector<Range> parts;
    std::vector<int64_t> room;
    for (const Range& cut : cuts) {
      const int64_t begin = std::max(cut.begin, span.begin), end = std::min(cut.end(), span.end());
      if (begin >= end) continue;
      if (begin != cut.begin || end != cut.end()) return order;
      parts.push_back(cut), room.push_back((cut.size + unit - 1) / unit);
    }
    std::vector<Unit> units;
    for (size_t s = 0; s < shape.chunks.size(); ++s) {
      const int64_t first = tokens.sequences[s], count = shape.chunks[s].tokens;
      if (count == 0 || first < span.begin || first >= span.end()) continue;
      if (count % unit != 0 && parts.size() > 1) return order;
      const size_t before = units.size();
      if (parts.size() == 1)
        units.push_back({first, count, 0, kAnywhere});
      else
        for (size_t part : deal(count / unit, room))
          units.push_back({first + int64_t(units.size() - before) * unit, unit, part, kAnywhere});
      if (holders[s] < 0) continue;
      const auto held = std::find(parts.begin(), parts.end(), range(tokens, layout, mesh, holders[s]));
      if (held == parts.end()) return std::nullopt;  // the rank has no tokens of this step
      units[before].wanted = size_t(held - parts.begin());
    }
    if (!settle(units)) return std::nullopt;
    for (size_t part = 0; part < parts.size(); ++part)
      for (const Unit& u : units)
        for (int64_t t = 0; u.part == part && t < u.tokens; ++t) arranged.push_back(u.first + t);
  }
  return arranged.size() == order.size() ? arranged : order;
}

}  // namespace shardwise
