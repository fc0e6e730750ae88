// Which part of a dim a rank has: by example, and as properties of any cut.
#include "shardwise/mesh/range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace shardwise {

// GoogleTest looks for this name.
// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const Range& r, std::ostream* out) { *out << "{" << r.begin << "," << r.size << "}"; }

namespace {

using testing::ElementsAre;

std::vector<int> ones(int n) { return std::vector<int>(size_t(n), 1); }

Mesh mesh_of(const std::vector<int>& sizes) {
  Mesh mesh;
  for (int n : sizes) mesh.axes.push_back({std::string(1, char('a' + mesh.axes.size())), n, ones(n)});
  return mesh;
}

Layout layout_of(std::vector<Placement> placements) {
  Layout layout;
  for (size_t a = 0; a < placements.size(); ++a) layout[int(a)] = placements[a];
  return layout;
}

// What each rank has; `f` is range or owned.
template <class F>
std::vector<Range> by_rank(F f, const Extent& e, const Layout& layout, const Mesh& mesh) {
  std::vector<Range> all;
  for (int rank = 0; rank < mesh.ranks(); ++rank) all.push_back(f(e, layout, mesh, rank));
  return all;
}

std::vector<int64_t> sizes(Range whole, int64_t granule, const std::vector<int>& weights) {
  std::vector<int64_t> all;
  for (int i = 0; i < int(weights.size()); ++i) all.push_back(part(whole, granule, weights, i).size);
  return all;
}

TEST(Part, UnevenPartsDifferByOneAndTheFirstAreLarger) {
  EXPECT_THAT(sizes({0, 9}, 1, ones(2)), ElementsAre(5, 4));
  EXPECT_THAT(sizes({0, 30}, 1, ones(4)), ElementsAre(8, 7, 8, 7));
  EXPECT_THAT(sizes({0, 10}, 1, ones(3)), ElementsAre(4, 3, 3));
}

TEST(Part, OfMorePartsThanElementsSomeAreEmpty) {
  EXPECT_THAT(sizes({0, 3}, 1, ones(4)), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(sizes({0, 1}, 1, ones(3)), ElementsAre(1, 0, 0));
  EXPECT_THAT(sizes({7, 0}, 1, ones(2)), ElementsAre(0, 0));
}

TEST(Part, FollowsWeights) {
  EXPECT_THAT(sizes({0, 16}, 1, {3, 5}), ElementsAre(6, 10));
  EXPECT_THAT(sizes({0, 30}, 1, {8, 10, 12}), ElementsAre(8, 10, 12));
  EXPECT_THAT(sizes({0, 10}, 1, {0, 1}), ElementsAre(0, 10));
  EXPECT_THAT(sizes({0, 10}, 1, {1, 0, 1}), ElementsAre(5, 0, 5));
}

// B20: a cut falls on whole granules, and only the last of them may be short.
TEST(Part, B20_CutsFallOnGranules) {
  EXPECT_THAT(sizes({0, 4864}, 256, ones(2)), ElementsAre(2560, 2304));
  EXPECT_THAT(sizes({0, 18944}, 256, ones(4)), ElementsAre(4864, 4608, 4864, 4608));
  EXPECT_THAT(sizes({0, 18944}, 256, ones(3)), ElementsAre(6400, 6400, 6144));
  EXPECT_THAT(sizes({0, 2048}, 256, ones(3)), ElementsAre(768, 768, 512));
  EXPECT_THAT(sizes({0, 100}, 32, ones(3)), ElementsAre(64, 32, 4));
  EXPECT_EQ(part({64, 64}, 32, ones(2), 1), (Range{96, 32}));
}

TEST(RangeOf, AnUncutDimIsWholeEverywhere) {
  const Extent d{Dim::D, 12};
  EXPECT_THAT(by_rank(range, d, layout_of({split(Dim::T)}), mesh_of({2})), ElementsAre(Range{0, 12}, Range{0, 12}));
  EXPECT_EQ(largest(d, layout_of({split(Dim::T)}), mesh_of({2})), 12);
}

TEST(RangeOf, TheMajorAxisCutsFirst) {
  const Layout both = layout_of({split(Dim::F), split(Dim::F)});
  EXPECT_THAT(by_rank(range, {Dim::F, 10}, both, mesh_of({2, 2})),
              ElementsAre(Range{0, 3}, Range{3, 2}, Range{5, 3}, Range{8, 2}));
  EXPECT_EQ(largest({Dim::F, 10}, both, mesh_of({2, 2})), 3);
}

TEST(RangeOf, ADimMayHaveWeightsOfItsOwn) {
  Mesh mesh = mesh_of({2});
  mesh.axes[0].weights = {3, 5}, mesh.axes[0].dim_weights[Dim::F] = {5, 3};
  EXPECT_THAT(by_rank(range, {Dim::F, 8}, layout_of({split(Dim::F)}), mesh), ElementsAre(Range{0, 5}, Range{5, 3}));
  EXPECT_THAT(by_rank(range, {Dim::V, 8}, layout_of({split(Dim::V)}), mesh), ElementsAre(Range{0, 3}, Range{3, 5}));
  EXPECT_EQ(largest({Dim::F, 8}, layout_of({split(Dim::F)}), mesh), 5);
}

// Along a ring a rank gets the part that stands so many coords before its own.
TEST(RangeOf, HopsNameThePartOfAnEarlierCoord) {
  Placement passed_on = split(Dim::S);
  passed_on.hops = 1;
  EXPECT_THAT(by_rank(range, {Dim::S, 6}, layout_of({passed_on}), mesh_of({3})),
              ElementsAre(Range{4, 2}, Range{0, 2}, Range{2, 2}));
  passed_on.hops = 3;
  EXPECT_EQ(by_rank(range, {Dim::S, 6}, layout_of({passed_on}), mesh_of({3})),
            by_rank(range, {Dim::S, 6}, layout_of({split(Dim::S)}), mesh_of({3})));
}

TEST(RangeOf, ACutBySequenceFallsWhereASequenceBegins) {
  const Extent t{Dim::T, 10, 1, 1, false, {0, 7, 7, 9}};  // of 7, 0, 2 and 1 tokens
  EXPECT_THAT(by_rank(range, t, layout_of({split(Dim::B)}), mesh_of({2})), ElementsAre(Range{0, 7}, Range{7, 3}));
  EXPECT_THAT(by_rank(range, t, layout_of({split(Dim::B)}), mesh_of({4})),
              ElementsAre(Range{0, 7}, Range{7, 0}, Range{7, 2}, Range{9, 1}));
  EXPECT_EQ(largest(t, layout_of({split(Dim::B)}), mesh_of({4})), 7);
  // A dim that does not lie along sequences is not cut by B.
  EXPECT_THAT(by_rank(range, {Dim::D, 10}, layout_of({split(Dim::B)}), mesh_of({2})),
              ElementsAre(Range{0, 10}, Range{0, 10}));
}

TEST(RangeOf, SequencesAndTokensCutTogetherInMeshOrder) {
  const Extent t{Dim::T, 10, 1, 1, false, {0, 6}};
  EXPECT_THAT(by_rank(range, t, layout_of({split(Dim::B), split(Dim::T)}), mesh_of({2, 2})),
              ElementsAre(Range{0, 3}, Range{3, 3}, Range{6, 2}, Range{8, 2}));
  EXPECT_THAT(by_rank(range, t, layout_of({split(Dim::T), split(Dim::B)}), mesh_of({2, 2})),
              ElementsAre(Range{0, 5}, Range{6, 0}, Range{5, 1}, Range{6, 4}));
}

// B01, B02: K is cut on the scale of query heads, and a rank holds the KV heads that its query heads read.
TEST(RangeOf, B01_MoreRanksThanKvHeadsCopyThem) {
  const Extent q{Dim::K, 8, 1, 4, false}, kv{Dim::K, 2, 1, 4, true};
  const Layout by_k = layout_of({split(Dim::K)});
  EXPECT_THAT(by_rank(range, q, by_k, mesh_of({4})), ElementsAre(Range{0, 2}, Range{2, 2}, Range{4, 2}, Range{6, 2}));
  EXPECT_THAT(by_rank(range, kv, by_k, mesh_of({4})), ElementsAre(Range{0, 1}, Range{0, 1}, Range{1, 1}, Range{1, 1}));
  EXPECT_EQ(largest(kv, by_k, mesh_of({4})), 1);
}

TEST(RangeOf, B02_HeadsThatRanksDoNotDivide) {
  const Extent q{Dim::K, 9, 1, 3, false}, kv{Dim::K, 3, 1, 3, true};
  const Layout by_k = layout_of({split(Dim::K)});
  EXPECT_THAT(by_rank(range, q, by_k, mesh_of({2})), ElementsAre(Range{0, 5}, Range{5, 4}));
  EXPECT_THAT(by_rank(range, kv, by_k, mesh_of({2})), ElementsAre(Range{0, 2}, Range{1, 2}));  // both hold head 1
  EXPECT_THAT(by_rank(owned, kv, by_k, mesh_of({2})), ElementsAre(Range{0, 2}, Range{2, 1}));  // one answers for it
}

TEST(RangeOf, OneKvHeadGoesToEveryRankThatHasAQueryHead) {
  const Extent kv{Dim::K, 1, 1, 4, true};
  const Layout by_k = layout_of({split(Dim::K)});
  EXPECT_THAT(by_rank(range, kv, by_k, mesh_of({5})),
              ElementsAre(Range{0, 1}, Range{0, 1}, Range{0, 1}, Range{0, 1}, Range{1, 0}));
  EXPECT_THAT(by_rank(owned, kv, by_k, mesh_of({5})),
              ElementsAre(Range{0, 1}, Range{1, 0}, Range{1, 0}, Range{1, 0}, Range{1, 0}));
}

TEST(Held, IsEveryBlockThatThePartTouches) {
  EXPECT_EQ(held({0, 40}, 32, 96), (Range{0, 64}));
  EXPECT_EQ(held({40, 56}, 32, 96), (Range{32, 64}));  // its neighbour holds the second block, too
  EXPECT_EQ(held({32, 32}, 32, 96), (Range{32, 32}));
  EXPECT_EQ(held({33, 1}, 32, 96), (Range{32, 32}));
  EXPECT_EQ(held({64, 8}, 32, 72), (Range{64, 8}));  // never beyond the end
  EXPECT_EQ(held({40, 0}, 32, 96), (Range{40, 0}));  // nothing is nothing
  EXPECT_EQ(held({5, 6}, 1, 96), (Range{5, 6}));
}

// ---- properties -----------------------------------------------------------------------------------------------------

std::vector<int> random_weights(int n) {
  auto weights = *rc::gen::container<std::vector<int>>(size_t(n), rc::gen::inRange(0, 9));
  if (std::accumulate(weights.begin(), weights.end(), 0) == 0) weights[0] = 1;
  return weights;
}

RC_GTEST_PROP(Part, PartsAreContiguousAndCoverTheWholeOnGranules, ()) {
  const Range whole{*rc::gen::inRange(0, 100) * 48, *rc::gen::inRange(0, 5000)};
  const int64_t granule = *rc::gen::element(1, 2, 16, 32, 48);
  const auto weights = random_weights(*rc::gen::inRange(1, 20));
  int64_t at = whole.begin;
  for (int i = 0; i < int(weights.size()); ++i) {
    const Range r = part(whole, granule, weights, i);
    RC_ASSERT(r.begin == at);
    RC_ASSERT(r.size >= 0);
    RC_ASSERT((r.begin - whole.begin) % granule == 0 || r.begin == whole.end());
    if (weights[size_t(i)] == 0) RC_ASSERT(r.size == 0);
    at = r.end();
  }
  RC_ASSERT(at == whole.end());
}

RC_GTEST_PROP(Part, EachIsWithinOneGranuleOfItsShare, ()) {
  const Range whole{0, *rc::gen::inRange(0, 5000)};
  const int64_t granule = *rc::gen::element(1, 2, 16, 32, 48);
  const auto weights = random_weights(*rc::gen::inRange(1, 20));
  const int64_t in_all = (whole.size + granule - 1) / granule;
  const auto granules = double(in_all);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0);
  for (int i = 0; i < int(weights.size()); ++i) {
    const Range r = part(whole, granule, weights, i);
    const int64_t count = (r.size + granule - 1) / granule;
    const double has = double(count), share = granules * weights[size_t(i)] / sum;
    RC_ASSERT(has > share - 1);
    RC_ASSERT(has < share + 1);
  }
}

RC_GTEST_PROP(Part, EvenPartsDifferByOneGranuleAtMost, ()) {
  const int64_t granule = *rc::gen::element(1, 16, 32), size = *rc::gen::inRange(0, 5000);
  auto all = sizes({0, size}, granule, ones(*rc::gen::inRange(1, 20)));
  for (int64_t& n : all) n = (n + granule - 1) / granule;  // the last granule of a dim may be a short one
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  RC_ASSERT(*most - *least <= 1);
  RC_ASSERT(all.front() == *most);
}

struct Cut {
  Mesh mesh;
  Layout layout;
};

// Some axes cut `d`, others cut something else or nothing.
Cut random_cut(Dim d) {
  Cut c;
  for (int a = 0, n = *rc::gen::inRange(1, 5); a < n; ++a) {
    const int size = *rc::gen::inRange(1, 5);
    c.mesh.axes.push_back({std::string(1, char('a' + a)), size, random_weights(size)});
    c.layout[a] = *rc::gen::element(split(d), replicated(), split(Dim::D), partial());
  }
  return c;
}

int64_t copies(const Cut& c, Dim d) {  // of each part: along the axes that do not cut
  int64_t n = 1;
  for (int a = 0; a < int(c.mesh.axes.size()); ++a)
    if (c.layout[a] != split(d)) n *= c.mesh.size(a);
  return n;
}

RC_GTEST_PROP(RangeOf, EveryElementIsThereOnceForEachCopy, ()) {
  const Cut c = random_cut(Dim::F);
  const Extent f{Dim::F, *rc::gen::inRange(0, 300), *rc::gen::element(1, 7, 16)};
  std::vector<int64_t> seen(size_t(f.size), 0);
  int64_t most = 0;
  for (int rank = 0; rank < c.mesh.ranks(); ++rank) {
    const Range r = range(f, c.layout, c.mesh, rank);
    most = std::max(most, r.size);
    for (int64_t i = r.begin; i < r.end(); ++i) ++seen[size_t(i)];
  }
  for (int64_t n : seen) RC_ASSERT(n == copies(c, Dim::F));
  RC_ASSERT(largest(f, c.layout, c.mesh) == most);
}

RC_GTEST_PROP(RangeOf, KvHeadsCoverTheQueryHeadsAndOneRankAnswersForEach, ()) {
  const Cut c = random_cut(Dim::K);
  const int64_t group = *rc::gen::inRange(1, 9), heads = *rc::gen::inRange(1, 9);
  const Extent q{Dim::K, heads * group, 1, group, false}, kv{Dim::K, heads, 1, group, true};
  std::vector<int64_t> answers(size_t(heads), 0);
  for (int rank = 0; rank < c.mesh.ranks(); ++rank) {
    const Range own = range(q, c.layout, c.mesh, rank), held = range(kv, c.layout, c.mesh, rank);
    const Range counted = owned(kv, c.layout, c.mesh, rank);
    RC_ASSERT((held.size == 0) == (own.size == 0));
    if (own.size > 0) {
      RC_ASSERT(held.begin == own.begin / group);
      RC_ASSERT(held.end() == (own.end() - 1) / group + 1);
    }
    if (counted.size > 0) RC_ASSERT(counted.begin >= held.begin && counted.end() <= held.end());
    for (int64_t i = counted.begin; i < counted.end(); ++i) ++answers[size_t(i)];
  }
  for (int64_t n : answers) RC_ASSERT(n == copies(c, Dim::K));
}

RC_GTEST_PROP(RangeOf, TokensCutBySequenceAndByTokenAreThereOnce, ()) {
  Extent t{Dim::T, 0, *rc::gen::element(1, 4)};
  for (int s = *rc::gen::inRange(1, 6); s > 0; --s) {
    t.sequences.push_back(t.size);
    t.size += *rc::gen::inRange(0, 9) * t.granule;
  }
  Cut c = random_cut(Dim::T);
  for (int a = 0; a < int(c.mesh.axes.size()); ++a)
    if (c.layout[a] == split(Dim::D)) c.layout[a] = split(Dim::B);
  std::vector<int64_t> seen(size_t(t.size), 0);
  for (int rank = 0; rank < c.mesh.ranks(); ++rank) {
    const Range r = range(t, c.layout, c.mesh, rank);
    for (int64_t i = r.begin; i < r.end(); ++i) ++seen[size_t(i)];
  }
  int64_t copies = 1;
  for (int a = 0; a < int(c.mesh.axes.size()); ++a)
    if (!is_split(c.layout[a])) copies *= c.mesh.size(a);
  for (int64_t n : seen) RC_ASSERT(n == copies);
}

RC_GTEST_PROP(Held, IsWholeBlocksAndContainsThePart, ()) {
  const int64_t block = *rc::gen::element(1, 32, 256), whole = block * *rc::gen::inRange(1, 20);
  const int64_t begin = *rc::gen::inRange<int64_t>(0, whole), size = *rc::gen::inRange<int64_t>(0, whole - begin + 1);
  const Range r = held({begin, size}, block, whole);
  if (size == 0) RC_SUCCEED("nothing is held of nothing");
  RC_ASSERT(r.begin % block == 0 && r.size % block == 0);
  RC_ASSERT(r.begin <= begin && r.end() >= begin + size);
  RC_ASSERT(r.size < size + 2 * block);
  RC_ASSERT(r.begin >= 0 && r.end() <= whole);
}

}  // namespace
}  // namespace shardwise
