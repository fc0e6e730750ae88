// The index is plain data; its one rule is stores(): who keeps the row of a token.
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
      if (cache[a] == split(Dim::S) || cache[a] == split(Dim::B)) own.push_back(mesh.coord(rank, a));
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

// Where tokens are not cut but the rows of the cache are, the ranks take turns: each axis reads its digit of the position.
bool CacheIndex::stores(const RowLayout& l, const Part& part, Range tokens, int64_t token, int32_t position) const {
  if (token < tokens.begin || token >= tokens.end()) return false;
  int64_t digits = position;
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

PartView::Place CacheIndex::place(Part& part, int slot, int32_t position) {
  std::vector<PageRows>& pages = part.slots[size_t(slot)];
  if (pages.empty() || pages.back().used == kernel::kPageRows) {
    int32_t page = part.fresh;
    if (part.free.empty()) {
      ++part.fresh;
    } else {
      page = part.free.back();
      part.free.pop_back();
    }
    CHECK(page < pages_reserved(), "page {} of {} for slot {}", page, pages_reserved(), slot);
    pages.push_back({page, std::vector<int32_t>(kernel::kPageRows, kernel::kFreeRow)});
    part.most = std::max(part.most, ++part.used);
  }
  PageRows& last = pages.back();
  last.positions[size_t(last.used)] = position;
  return {last.page, last.used++};
}

std::vector<PartView> CacheIndex::append(const RowLayout& l, const std::vector<int32_t>& positions, const std::vector<int32_t>& slots) {
  std::vector<PartView> views;
  std::vector<bool> active(size_t(slots_), false);
  for (int32_t s : slots) active[size_t(s)] = true;
  for (Part& part : parts_) {
    const Range tokens = range(l.tokens, l.token_layout, mesh_, part.rank);
    std::vector<int64_t> mine;
    for (int64_t t = tokens.begin; t < tokens.end(); ++t)
      if (stores(l, part, tokens, t, positions[size_t(t)])) mine.push_back(t);
    // Rows of a sequence lie by position, whatever the order of the step's tokens.
    std::stable_sort(mine.begin(), mine.end(), [&](int64_t a, int64_t b) { return positions[size_t(a)] < positions[size_t(b)]; });
    std::vector<PartView::Place> places(positions.size());
    for (int64_t t : mine) places[size_t(t)] = place(part, slots[size_t(t)], positions[size_t(t)]);
    views.push_back(view(part, active));
    views.back().places = std::move(places);
  }
  return views;
}

PartView CacheIndex::view(const Part& part, const std::vector<bool>& active) const {
  PartView v;
  for (size_t s = 0; s < part.slots.size(); ++s) {
    v.begin.push_back(int32_t(v.pages.size()));
    if (!active[s]) continue;
    for (const PageRows& p : part.slots[s]) {
      v.pages.push_back(p.page);
      v.positions.insert(v.positions.end(), p.positions.begin(), p.positions.end());
    }
  }
  v.begin.push_back(int32_t(v.pages.size()));
  return v;
}

void CacheIndex::truncate(int slot, int64_t length) {
  for (Part& part : parts_) {
    std::vector<PageRows>& pages = part.slots[size_t(slot)];
    while (!pages.empty()) {
      PageRows& last = pages.back();
      while (last.used > 0 && last.positions[size_t(last.used) - 1] >= length) last.positions[size_t(--last.used)] = kernel::kFreeRow;
      if (last.used > 0) break;
      part.free.push_back(last.page), --part.used;
      pages.pop_back();
    }
  }
}

}  // namespace shardwise
