// The algebra of redistribution, by example: the whole table, and what the moves cost.
#include "shardwise/mesh/layout.h"

#include <gtest/gtest.h>

#include <optional>

namespace shardwise {
namespace {

const Placement kWhole = replicated(), kByT = split(Dim::T), kByK = split(Dim::K);
const Placement kSum = partial(), kSoftmax = partial(Reduce::Softmax);

struct Row {
  Placement from, to;
  std::optional<Move> move;
};

// What leads from one placement to another along one axis. The dim of a split does not matter, only whether it changes.
// clang-format off
const Row kTable[] = {
    // from    to         move
    {kWhole,   kWhole,    Move::None},
    {kWhole,   kByT,      Move::Slice},
    {kWhole,   kSum,      std::nullopt},  // nothing becomes partial by moving
    {kByT,     kWhole,    Move::AllGather},
    {kByT,     kByT,      Move::None},
    {kByT,     kByK,      Move::AllToAll},
    {kByK,     kByT,      Move::AllToAll},
    {kByT,     kSum,      std::nullopt},
    {kSum,     kWhole,    Move::AllReduce},
    {kSum,     kByT,      Move::ReduceScatter},
    {kSum,     kSum,      Move::None},
    {kSum,     kSoftmax,  std::nullopt},
    {kSoftmax, kWhole,    Move::AllReduce},
    {kSoftmax, kByT,      Move::ReduceScatter},
    {kSoftmax, kSoftmax,  Move::None},
    {kSoftmax, kSum,      std::nullopt},
};
// clang-format on

TEST(MoveBetween, IsTheWholeAlgebra) {
  for (const Row& row : kTable) EXPECT_EQ(move_between(row.from, row.to), row.move) << (&row - kTable);
}

TEST(MoveBetween, APartOfARingIsAnotherPart) {
  Placement passed_on = split(Dim::S);
  passed_on.hops = 1;
  EXPECT_NE(passed_on, split(Dim::S));
  EXPECT_EQ(move_between(passed_on, passed_on), Move::None);
}

TEST(Meet, ACutBySequenceMeetsEveryDimAlongSequences) {
  for (const Dim d : {Dim::T, Dim::R, Dim::S, Dim::B}) {
    EXPECT_TRUE(meet(Dim::B, d)) << letter(d);
    EXPECT_TRUE(meet(d, Dim::B)) << letter(d);
    EXPECT_TRUE(meet(d, d)) << letter(d);
  }
  for (const Dim d : {Dim::D, Dim::K, Dim::F, Dim::V, Dim::H}) EXPECT_FALSE(meet(Dim::B, d)) << letter(d);
  EXPECT_FALSE(meet(Dim::T, Dim::S));
  EXPECT_TRUE(meet(split(Dim::B), Dim::T));
  EXPECT_FALSE(meet(replicated(), Dim::B));  // whose dim is B by default, and cuts nothing
  EXPECT_FALSE(meet(partial(), Dim::B));
}

// 12 bytes in all on 3 ranks, 4 of them a part; by the ring algorithms.
TEST(WireBytes, AreThoseThatTheBusiestRankSends) {
  EXPECT_EQ(wire_bytes(Move::None, 12, 12, 3), 0);
  EXPECT_EQ(wire_bytes(Move::Slice, 12, 4, 3), 0);
  EXPECT_EQ(wire_bytes(Move::AllGather, 4, 12, 3), 8);
  EXPECT_EQ(wire_bytes(Move::ReduceScatter, 12, 4, 3), 8);
  EXPECT_EQ(wire_bytes(Move::AllReduce, 12, 12, 3), 16);  // a reduce_scatter, then an all_gather
  EXPECT_DOUBLE_EQ(wire_bytes(Move::AllToAll, 4, 4, 3), 8.0 / 3);
}

TEST(WireBytes, OfOneRankAreNone) {
  for (const Move m : {Move::None, Move::Slice, Move::AllGather, Move::ReduceScatter, Move::AllReduce, Move::AllToAll})
    EXPECT_EQ(wire_bytes(m, 12, 12, 1), 0) << name(m);
}

TEST(Move, Names) {
  EXPECT_EQ(name(Move::None), "none");
  EXPECT_EQ(name(Move::AllToAll), "all_to_all");
}

}  // namespace
}  // namespace shardwise
