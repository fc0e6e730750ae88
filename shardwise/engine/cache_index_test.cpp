// Who keeps which row: every position on exactly one part, whole pages together, and truncation that forgets just the
// tail.
#include "shardwise/engine/cache_index.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "shardwise/program/plan.h"

namespace shardwise {
namespace {

struct Two {  // two ranks that cut rows; tokens are not cut
  Plan plan = *parse_plan("cp=2");
  RowLayout rows;
  Two() {
    rows.mesh = plan.mesh;
    rows.cache_layout[0] = split(Dim::S);
  }
  std::vector<PartView> append(CacheIndex& index, int slot, int64_t first, int64_t count) {
    std::vector<int32_t> positions(static_cast<size_t>(count)), slots(positions.size(), slot);
    std::iota(positions.begin(), positions.end(), int32_t(first));
    rows.tokens = {Dim::T, count};
    return index.append(rows, positions, slots);
  }
};

// Positions of a slot that the views show, each of which must be on one part only.
std::set<int32_t> stored(const std::vector<PartView>& views, int slot) {
  std::set<int32_t> all;
  for (const PartView& v : views)
    for (int32_t page = v.begin[size_t(slot)]; page < v.begin[size_t(slot) + 1]; ++page)
      for (int row = 0; row < kernel::kPageRows; ++row)
        if (const int32_t p = v.positions[size_t(page * kernel::kPageRows + row)]; p != kernel::kFreeRow) {
          EXPECT_TRUE(all.insert(p).second) << "position " << p << " is there twice";
        }
  return all;
}

TEST(CacheIndex, KeepsEachPositionOnceAndPagesWhole) {
  Two two;
  CacheIndex index(two.plan.mesh, two.rows.cache_layout, 1, 100);
  two.append(index, 0, 0, 37);
  std::vector<PartView> views;
  for (int64_t p = 37; p < 60; ++p) views = two.append(index, 0, p, 1);
  EXPECT_EQ(stored(views, 0).size(), 60U);
  for (int32_t page = 0; page < 4; ++page)
    for (int32_t p = page * 16; p < std::min(60, page * 16 + 16); ++p) EXPECT_EQ(index.holder(0, p), page % 2);
  EXPECT_EQ(index.pages_used(0), 2);
}

TEST(CacheIndex, TruncateForgetsTheTailAndReusesItsPages) {
  Two two;
  CacheIndex index(two.plan.mesh, two.rows.cache_layout, 2, 64);
  two.append(index, 0, 0, 40);
  index.truncate(0, 10);
  EXPECT_EQ(index.holder(0, 20), -1);
  const auto views = two.append(index, 0, 10, 3);
  EXPECT_EQ(*stored(views, 0).rbegin(), 12);
  EXPECT_EQ(stored(views, 0).size(), 13U);
  const auto other = two.append(index, 1, 0, 64);  // pages that slot 0 gave back serve slot 1
  EXPECT_EQ(stored(other, 1).size(), 64U);
  EXPECT_TRUE(stored(other, 0).empty());  // takes no part in that step
}

TEST(CacheIndex, DoesNotStoreWhatOnlyFillsAPage) {
  Two two;
  CacheIndex index(two.plan.mesh, two.rows.cache_layout, 1, 64);
  two.rows.tokens = {Dim::T, 3};
  const auto views = index.append(two.rows, {-1, 0, -1}, {0, 0, 0});
  EXPECT_EQ(stored(views, 0), std::set<int32_t>{0});
}

}  // namespace
}  // namespace shardwise
