// Balance as a permutation: with it in place, cuts of T stay plain ranges everywhere else. A causal prompt falls out in
// zigzag, an early and a late unit by turns.
#include "shardwise/engine/arrange.h"

#include <algorithm>

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

// A range of places that some ranks have: what it can still take, and what it was given.
struct Part {
  Range places;
  double share;  // of the work, by the weights of its ranks
  int64_t room = 0;
  double work = 0;
};

// The distinct ranges under a layout, in order; empty ones left out.
std::vector<Part> parts_of(const RowLayout& rows, const Layout& layout) {
  std::vector<Part> all;
  for (int rank = 0; rank < rows.mesh.ranks(); ++rank) {
    Part part{range(rows.tokens, layout, rows.mesh, rank), 1};
    for (int a = 0; a < int(rows.mesh.axes.size()); ++a)
      if (layout[a] == split(Dim::T)) part.share *= rows.mesh.weights(Dim::T, a)[size_t(rows.mesh.coord(rank, a))];
    const bool known = std::any_of(all.begin(), all.end(), [&](const Part& p) { return p.places == part.places; });
    if (part.places.size > 0 && !known) all.push_back(part);
  }
  std::sort(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.places.begin < b.places.begin; });
  return all;
}

// Some neighbouring tokens of a sequence.
struct Unit {
  int64_t first, tokens;
  double work = 0;  // pairs of a token and a row that it sees
  int holder = -1;  // the rank that must append it
  size_t part = 0;
};

// The units of one slot, of `size` tokens each, of which only those asked for see anything.
void cut_up(const BatchShape::Chunk& asked, const BatchShape::Chunk& filled, int64_t first, int64_t size, int holder,
            std::vector<Unit>& units) {
  for (int64_t t = 0; t < filled.tokens; t += size) {
    Unit u{first + t, std::min(size, filled.tokens - t)};
    const int64_t begin = std::max(filled.past + t, asked.past);
    const int64_t end = std::min(filled.past + t + u.tokens, asked.past + asked.tokens);
    if (begin < end) u.work = double(end - begin) * double(begin + end + 1) / 2;
    if (t == 0) u.holder = holder;
    units.push_back(u);
  }
}

// Units whose place is given first, then the heaviest: each to the part that has least to do for its share; where
// several have, to the one that takes the fewest more. Whether all found a place.
bool deal(std::vector<Unit>& units, std::vector<Part>& parts, const RowLayout& rows) {
  std::vector<Unit*> order;
  for (Unit& u : units) order.push_back(&u);
  std::stable_sort(order.begin(), order.end(), [](const Unit* a, const Unit* b) {
    return a->holder >= 0 || b->holder >= 0 ? a->holder >= 0 && b->holder < 0 : a->work > b->work;
  });
  for (Unit* u : order) {
    Range reach{0, rows.tokens.size};
    if (u->holder >= 0) reach = range(rows.tokens, rows.token_layout, rows.mesh, u->holder);
    Part* best = nullptr;
    for (Part& p : parts) {
      if (p.room == 0 || p.places.begin < reach.begin || p.places.end() > reach.end()) continue;
      const double mine = p.work / p.share, least = best != nullptr ? best->work / best->share : 0;
      if (best == nullptr || mine < least || (mine == least && p.room < best->room)) best = &p;
    }
    if (best == nullptr) return false;
    u->part = size_t(best - parts.data());
    best->work += u->work, --best->room;
  }
  return true;
}

// Few units seldom come out even: two of them change places, as long as that relieves the part with most to do.
void level(std::vector<Unit>& units, std::vector<Part>& parts) {
  constexpr double kEven = 1.02;  // of the mean; long prompts are below it as they are dealt
  double work = 0, shares = 0;
  for (const Part& p : parts) work += p.work, shares += p.share;
  auto load = [](const Part& p) { return p.work / p.share; };
  while (true) {
    Part& most = *std::max_element(parts.begin(), parts.end(), [&](auto& a, auto& b) { return load(a) < load(b); });
    double least = load(most);
    if (least <= kEven * work / shares) return;
    std::pair<Unit*, Unit*> best{};
    for (Unit& mine : units)
      for (Unit& other : units) {
        const Part& p = parts[other.part];
        const double moved = mine.work - other.work;
        if (&parts[mine.part] != &most || &p == &most || moved <= 0 || mine.holder >= 0 || other.holder >= 0) continue;
        const double then = std::max((most.work - moved) / most.share, (p.work + moved) / p.share);
        if (then < least) least = then, best = {&mine, &other};
      }
    if (best.first == nullptr) return;
    const double moved = best.first->work - best.second->work;
    most.work -= moved, parts[best.second->part].work += moved;
    std::swap(best.first->part, best.second->part);
  }
}

}  // namespace

std::optional<std::vector<int64_t>> arrange(const BatchShape& asked, const BatchShape& shape, const RowLayout& rows,
                                            const Layout& cuts, const std::vector<int>& holders) {
  const Extent& tokens = rows.tokens;
  Layout by_sequence = cuts;
  for (Placement& p : by_sequence.on)
    if (p == split(Dim::T)) p = replicated();
  const std::vector<Part> all = parts_of(rows, cuts);
  std::vector<int64_t> order;
  for (const Part& span : parts_of(rows, by_sequence)) {
    std::vector<Part> parts;
    for (const Part& p : all)
      if (p.places.begin >= span.places.begin && p.places.end() <= span.places.end()) parts.push_back(p);
    // What nobody cuts goes as it is.
    const int64_t unit = parts.size() == 1 ? std::max<int64_t>(1, tokens.size) : std::max<int64_t>(1, tokens.granule);
    std::vector<Unit> units;
    for (size_t s = 0; s < shape.chunks.size(); ++s)
      if (const int64_t first = tokens.sequences[s];
          shape.chunks[s].tokens > 0 && first >= span.places.begin && first < span.places.end())
        cut_up(asked.chunks[s], shape.chunks[s], first, unit, holders[s], units);
    for (Part& p : parts) p.room = parts.size() == 1 ? int64_t(units.size()) : (p.places.size + unit - 1) / unit;
    if (!deal(units, parts, rows)) return std::nullopt;
    level(units, parts);
    for (size_t part = 0; part < parts.size(); ++part)
      for (const Unit& u : units)
        for (int64_t t = 0; u.part == part && t < u.tokens; ++t) order.push_back(u.first + t);
  }
  CHECK(int64_t(order.size()) == tokens.size, "{} of {} tokens have a place", order.size(), tokens.size);
  return order;
}

}  // namespace shardwise
