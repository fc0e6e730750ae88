// How one tensor lies on a mesh: one placement per mesh axis, and the moves between placements.
//
// Placements name the dim they split, so a layout reads the same whatever the order of dims.
// When two axes split one dim, the major axis cuts first: mesh order is the only order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "shardwise/mesh/mesh.h"

namespace shardwise {

enum class Reduce : uint8_t { Sum, Softmax };  // Softmax: (value, log-sum-exp) pairs, merged by weight

struct Placement {
  enum Kind : uint8_t { Replicated, Split, Partial } kind = Replicated;
  Dim dim{};                    // of a Split
  Reduce reduce = Reduce::Sum;  // of a Partial
  uint8_t hops = 0;             // of a Split in a ring: the part of the rank that many coords before

  friend bool operator==(const Placement&, const Placement&) = default;
};

inline constexpr Placement replicated() { return {}; }
inline constexpr Placement split(Dim d) { return {Placement::Split, d}; }
inline constexpr Placement partial(Reduce r = Reduce::Sum) { return {Placement::Partial, {}, r}; }
inline constexpr bool is_split(Placement p) { return p.kind == Placement::Split; }

// Dims that lie along sequences. A cut by sequence, B, is a cut of each of them, and mesh order counts them together:
// for "a=2,b=2; B:a T:b K:a" h[T_Ba_b] must be uncut along b before it is gathered along a, or its tokens are mixed up.
inline constexpr bool along_sequences(Dim d) { return d == Dim::T || d == Dim::R || d == Dim::S; }
inline constexpr bool meet(Dim a, Dim b) {
  return a == b || (a == Dim::B && along_sequences(b)) || (b == Dim::B && along_sequences(a));
}
inline constexpr bool meet(Placement p, Dim d) { return is_split(p) && meet(p.dim, d); }

struct Layout {
  std::array<Placement, kMaxAxes> on{};

  Placement& operator[](int axis) { return on[size_t(axis)]; }
  const Placement& operator[](int axis) const { return on[size_t(axis)]; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

enum class Move : uint8_t { None, Slice, AllGather, AllReduce, ReduceScatter, AllToAll };
inline constexpr std::string_view kMoveNames[] = {"none",       "slice",          "all_gather",
                                                  "all_reduce", "reduce_scatter", "all_to_all"};
inline constexpr std::string_view name(Move m) { return kMoveNames[size_t(m)]; }

// The whole algebra of redistribution along one axis. Nothing becomes Partial by moving.
inline constexpr std::optional<Move> move_between(Placement from, Placement to) {
  using P = Placement;
  if (from == to) return Move::None;
  if (to.kind == P::Partial) return std::nullopt;
  switch (from.kind) {
    case P::Replicated: return Move::Slice;
    case P::Split: return to.kind == P::Split ? Move::AllToAll : Move::AllGather;
    case P::Partial: return to.kind == P::Split ? Move::ReduceScatter : Move::AllReduce;
  }
  return std::nullopt;
}

// Bytes the busiest rank sends for one move over `n` ranks, from the bytes of the fullest rank before and after it:
// parts are uneven, and a ring is as slow as its largest part. Ring algorithms: Thakur, Rabenseifner and Gropp 2005.
inline constexpr double wire_bytes(Move m, double before, double after, int n) {
  switch (m) {
    case Move::None:
    case Move::Slice: return 0;
    case Move::AllGather: return before * (n - 1);
    case Move::ReduceScatter: return after * (n - 1);
    case Move::AllReduce: return 2 * before * (n - 1) / n;
    case Move::AllToAll: return before * (n - 1) / n;
  }
  return 0;
}

}  // namespace shardwise
