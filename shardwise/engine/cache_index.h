// Which rows of the cache hold which positions of which sequences, on every part of it. Rows are a set, not a range:
// appending never moves one. Every process computes the same index from the same batches, so nobody sends where a row
// lies.
#pragma once

#include <vector>

#include "shardwise/engine/job.h"
#include "shardwise/program/plan.h"

namespace shardwise {

// What the index must know of a sharded program: how tokens and cache lie when rows are appended.
struct RowLayout {
  Mesh mesh;
  Extent tokens{Dim::T, 0};
  Layout token_layout, cache_layout;
};
RowLayout row_layout(const Program&);

class CacheIndex {
 public:
  // `slots` sequences of at most `rows` rows each.
  CacheIndex(const Mesh&, const Layout& cache, int slots, int64_t rows);

  int parts() const { return int(parts_.size()); }
  int part_of(int rank) const { return part_of_[size_t(rank)]; }
  int rank_of(int part) const { return parts_[size_t(part)].rank; }  // the first that has it
  bool cuts(int axis) const { return cache_[axis] == split(Dim::S) || cache_[axis] == split(Dim::B); }
  int coord(int part, int axis) const;  // of its ranks, along an axis that cuts rows
  int64_t pages_reserved() const;       // of each part: as many as it can ever need
  int64_t pages_used(int part) const;   // most that were in use at once

  // Finds a place for each token on the part that stores it, and gives the views that the step needs.
  std::vector<PartView> append(const RowLayout&, const std::vector<int32_t>& positions,
                               const std::vector<int32_t>& slots);

  // The part that holds the page of a position; -1 when none does yet.
  int holder(int slot, int32_t position) const;

  // Forgets the rows of a sequence from position `length` on.
  void truncate(int slot, int64_t length);

 private:
  // Positions 16 n to 16 n + 15 of a sequence, those of them that are here. A page that lies whole on one part gives
  // the same bits whatever the plan.
  struct PageRows {
    int32_t number;  // n
    int32_t page;    // in the pool
    std::vector<int32_t> positions = std::vector<int32_t>(kernel::kPageRows, kernel::kFreeRow);
  };
  struct Part {
    int rank = 0;                              // the first that has it
    std::vector<std::vector<PageRows>> slots;  // pages of each sequence, by number
    std::vector<int32_t> free;                 // pages returned
    int32_t fresh = 0;                         // pages never used are numbered from here
    int64_t used = 0, most = 0;
  };
  bool takes_turn(const RowLayout&, const Part&, int32_t position) const;
  PartView::Place place(Part&, int slot, int32_t position);
  void view(const Part&, const std::vector<bool>& active, PartView&) const;

  Mesh mesh_;
  Layout cache_;
  int slots_;
  int64_t rows_;
  std::vector<Part> parts_;
  std::vector<int> part_of_;
};

}  // namespace shardwise
