// Ranks, coords and groups of meshes against small tables and, over random meshes, against one another.
#include "shardwise/mesh/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace shardwise {
namespace {

using testing::ElementsAre;

Mesh two_by_three() { return {{{"pp", 2, {1, 1}}, {"tp", 3, {3, 5, 8}, {{Dim::F, {1, 2, 3}}}}}}; }

Mesh random_mesh() {
  Mesh mesh;
  for (int axis = *rc::gen::inRange(0, kMaxAxes + 1); axis > 0; --axis) {
    const int size = *rc::gen::inRange(1, 5);
    mesh.axes.push_back({"a" + std::to_string(axis), size, std::vector<int>(size_t(size), 1)});
  }
  return mesh;
}

TEST(Mesh, WithoutAxesIsOneRank) {
  EXPECT_EQ(Mesh{}.ranks(), 1);
  EXPECT_EQ(Mesh{}.axis("tp"), -1);
}

TEST(Mesh, AxesAreFoundByName) {
  const Mesh mesh = two_by_three();
  EXPECT_EQ(mesh.ranks(), 6);
  EXPECT_EQ(mesh.axis("pp"), 0);
  EXPECT_EQ(mesh.axis("tp"), 1);
  EXPECT_EQ(mesh.axis("t"), -1);
  EXPECT_EQ(mesh.axis(""), -1);
}

TEST(Mesh, RanksAreRowMajor) {
  const Mesh mesh = two_by_three();
  std::vector<std::pair<int, int>> coords;
  for (int rank = 0; rank < 6; ++rank) coords.emplace_back(mesh.coord(rank, 0), mesh.coord(rank, 1));
  using P = std::pair<int, int>;
  EXPECT_THAT(coords, ElementsAre(P(0, 0), P(0, 1), P(0, 2), P(1, 0), P(1, 1), P(1, 2)));
}

TEST(Mesh, GroupsRunAlongOneAxis) {
  const Mesh mesh = two_by_three();
  EXPECT_THAT(mesh.group(4, 0), ElementsAre(1, 4));
  EXPECT_THAT(mesh.group(4, 1), ElementsAre(3, 4, 5));
  EXPECT_THAT(mesh.group(0, 1), ElementsAre(0, 1, 2));
}

TEST(Mesh, OwnWeightsOfADimGoBeforeThoseOfTheAxis) {
  const Mesh mesh = two_by_three();
  EXPECT_THAT(mesh.weights(Dim::F, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(mesh.weights(Dim::K, 1), ElementsAre(3, 5, 8));
  EXPECT_THAT(mesh.weights(Dim::F, 0), ElementsAre(1, 1));
}

RC_GTEST_PROP(Mesh, CoordsGiveTheRankBack, ()) {
  const Mesh mesh = random_mesh();
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    int back = 0;
    for (int axis = 0; axis < int(mesh.axes.size()); ++axis) back = back * mesh.size(axis) + mesh.coord(rank, axis);
    RC_ASSERT(back == rank);
  }
}

RC_GTEST_PROP(Mesh, AGroupDiffersInOneCoordOnlyAndIsTheSameForItsMembers, ()) {
  const Mesh mesh = random_mesh();
  RC_PRE(!mesh.axes.empty());
  const int axis = *rc::gen::inRange(0, int(mesh.axes.size()));
  const int rank = *rc::gen::inRange(0, mesh.ranks());
  const std::vector<int> group = mesh.group(rank, axis);
  RC_ASSERT(int(group.size()) == mesh.size(axis));
  RC_ASSERT(group[size_t(mesh.coord(rank, axis))] == rank);
  for (int i = 0; i < int(group.size()); ++i) {
    const int member = group[size_t(i)];
    for (int other = 0; other < int(mesh.axes.size()); ++other) {
      RC_ASSERT(mesh.coord(member, other) == (other == axis ? i : mesh.coord(rank, other)));
    }
    RC_ASSERT(mesh.group(member, axis) == group);
  }
}

TEST(MeshDeath, RanksAndAxesOutsideAreOurMistake) {
  EXPECT_DEATH(two_by_three().coord(6, 0), "rank 6 of a mesh of 6 ranks");
  EXPECT_DEATH(two_by_three().coord(0, 2), "axis 2 of a mesh of 2 axes");
}

}  // namespace
}  // namespace shardwise
