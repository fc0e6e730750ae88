// The index is plain data. Its rule: a row goes to the part that computed its token; where several did, to the one that
// has the page already, or whose turn it is.
#include "shardwise/engine/cache_index.h"

#include <algorithm>
#include <numeric>

#include "shardwise/base/check.h"

namespace shardwise {

RowLayout row_layout(const Program& p) {
  for (const Step& s : p.steps)
    if (const auto* c = std::get_if<Compute>(&s.op); c && c->kind == OpKind::Append) {
      const Value& k = p.value(c->in[0]);
      return {p.mesh, *k.find(Dim::T), k.layout, p.value(c->in.back()).layout};
    }
  return {p.mesh, {Dim::T, 0}, {}, {}};
}

CacheIndex::CacheIndex(const Mesh& mesh, const Layout& cache, int slots, int64_t rows)
    : mesh_(mesh), cache_(cache), slots_(slots), rows_(rows), part_of_(size_t(mesh.ranks()), -1) {
  std::vector<std::vector<int>> coords;
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    std::vector<int> own;
    for (int a = 0; a < int(mesh.axes.size()); ++a)
      if (cuts(a)) own.push_back(mesh.coord(rank, a));
    const auto known = std::find(coords.begin(), coords.end(), own);
    part_of_[size_t(rank)] = int(known - coords.begin());
    if (known != coords.end()) continue;
    coords.push_back(own);
    parts_.push_back({.rank = rank, .slots = std::vector<std::vector<PageRows>>(size_t(slots)), .free = {}});
  }
}

int CacheIndex::coord(int part, int axis) const { return mesh_.coord(parts_[size_t(part)].rank, axis); }

int64_t CacheIndex::pages_reserved() const {
  // A part may come to hold any of the rows: who stores a row follows from where its token was computed.
  return slots_ * ((rows_ + kernel::kPageRows - 1) / kernel::kPageRows + 1);
}

int64_t CacheIndex::pages_used(int part) const { return parts_[size_t(part)].most; }

// Where tokens are not cut but the rows of the cache are, the ranks take turns by page: each axis reads its digit.
bool CacheIndex::takes_turn(const RowLayout& l, const Part& part, int32_t position) const {
  int64_t digits = position / kernel::kPageRows;
  for (int a = 0; a < int(mesh_.axes.size()); ++a) {
    if (cache_[a] != split(Dim::S) || l.token_layout[a] == split(Dim::T)) continue;
    const std::vector<int>& weights = mesh_.weights(Dim::S, a);
    const int64_t turns = std::accumulate(weights.begin(), weights.end(), int64_t{0}), turn = digits % turns;
    const Range mine = shardwise::part({0, turns}, 1, weights, mesh_.coord(part.rank, a));
    if (turn < mine.begin || turn >= mine.end()) return false;
    digits /= turns;
  }
  return true;
}

int CacheIndex::holder(int slot, int32_t position) const {
  for (size_t p = 0; p < parts_.size(); ++p)
    for (auto page = parts_[p].slots[size_t(slot)].rbegin(); page != parts_[p].slots[size_t(slot)].rend(); ++page) {
      if (page->number == position / kernel::kPageRows) return int(p);
      if (page->number < position / kernel::kPageRows) break;
    }
  return -1;
}

PartView::Place CacheIndex::place(Part& part, int slot, int32_t position) {
  std::vector<PageRows>& pages = part.slots[size_t(slot)];
  const int32_t number = position / kernel::kPageRows, row = position % kernel::kPageRows;
  if (pages.empty() || pages.back().number != number) {
    int32_t page = part.fresh;
    if (part.free.empty()) {
      ++part.fresh;
    } else {
      page = part.free.back();
      part.free.pop_back();
    }
    CHECK(page < pages_reserved(), "page {} of {} for slot {}", page, pages_reserved(), slot);
    pages.push_back({number, page});
    part.most = std::max(part.most, ++part.used);
  }
  pages.back().positions[size_t(row)] = position;
  return {pages.back().page, row};
}

std::vector<PartView> CacheIndex::append(const RowLayout& l, const std::vector<int32_t>& positions,
                                         const std::vector<int32_t>& slots) {
  std::vector<Range> tokens;
  for (const Part& part : parts_) tokens.push_back(range(l.tokens, l.token_layout, mesh_, part.rank));
  auto has = [&](int part, int64_t t) { return t >= tokens[size_t(part)].begin && t < tokens[size_t(part)].end(); };

  std::vector<int64_t> by_position;  // rows of a sequence lie by position, whatever the order of the step's tokens
  std::vector<bool> active(size_t(slots_), false);
  for (size_t t = 0; t < positions.size(); ++t) {
    active[size_t(slots[t])] = true;
    if (positions[t] >= 0) by_position.push_back(int64_t(t));
  }
  std::stable_sort(by_position.begin(), by_position.end(),
                   [&](int64_t a, int64_t b) { return positions[size_t(a)] < positions[size_t(b)]; });

  std::vector<PartView> views(parts_.size());
  for (PartView& v : views) v.places.resize(positions.size());
  for (int64_t t : by_position) {
    const int32_t position = positions[size_t(t)];
    const int slot = slots[size_t(t)], known = holder(slot, position);
    for (int p = 0; p < parts(); ++p) {
      const bool mine =
          known >= 0 && has(known, t) ? p == known : has(p, t) && takes_turn(l, parts_[size_t(p)], position);
      if (mine) views[size_t(p)].places[size_t(t)] = place(parts_[size_t(p)], slot, position);
    }
  }
  for (size_t p = 0; p < parts_.size(); ++p) view(parts_[p], active, views[p]);
  return views;
}

void CacheIndex::view(const Part& part, const std::vector<bool>& active, PartView& v) const {
  for (size_t s = 0; s < part.slots.size(); ++s) {
    v.begin.push_back(int32_t(v.pages.size()));
    if (!active[s]) continue;
    for (const PageRows& p : part.slots[s]) {
      v.pages.push_back(p.page);
      v.positions.insert(v.positions.end(), p.positions.begin(), p.positions.end());
    }
  }
  v.begin.push_back(int32_t(v.pages.size()));
}

void CacheIndex::truncate(int slot, int64_t length) {
  for (Part& part : parts_) {
    std::vector<PageRows>& pages = part.slots[size_t(slot)];
    while (!pages.empty() && int64_t{pages.back().number} * kernel::kPageRows >= length) {
      part.free.push_back(pages.back().page), --part.used;
      pages.pop_back();
    }
    if (pages.empty()) continue;
    for (int32_t& position : pages.back().positions)
      if (position != kernel::kFreeRow && position >= length) position = kernel::kFreeRow;
  }
}

}  // namespace shardwise
