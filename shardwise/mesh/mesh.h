// A mesh is a named grid of ranks. Axes run major to minor; rank = row-major index.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"

namespace shardwise {

inline constexpr int kMaxAxes = 5;
inline constexpr int kMaxRanks = 4096;

// The letters of JAX's scaling book: T tokens, S cache rows, D model, K heads, G query heads per KV head, H head size,
// F FFN width, V vocabulary, E experts, L layers; and R, the rows of T whose logits are asked for. B counts sequences:
// no tensor has it, it is a way to cut T, R and S where one sequence ends and the next begins. K is cut on the scale of
// query heads (range.h).
enum class Dim : uint8_t { B, T, R, S, D, K, G, H, F, V, E, L };
inline constexpr std::string_view kLetters = "BTRSDKGHFVEL";
inline constexpr int kDims = int(kLetters.size());
inline constexpr char letter(Dim d) { return kLetters[size_t(d)]; }

struct MeshAxis {
  std::string name;
  int size = 1;
  std::vector<int> weights;  // each coord's share of a dim: whole numbers, so that every machine cuts alike
  std::map<Dim, std::vector<int>> dim_weights = {};  // of one dim, where a rule of the plan says so

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

struct Mesh {
  std::vector<MeshAxis> axes;

  int ranks() const;
  int size(int axis) const { return axes[size_t(axis)].size; }
  int axis(std::string_view name) const;  // -1 when the mesh has no such axis
  int coord(int rank, int axis) const;
  std::vector<int> group(int rank,
                         int axis) const;  // the ranks that differ from `rank` only along `axis`, in axis order
  const std::vector<int>& weights(Dim, int axis) const;

  friend bool operator==(const Mesh&, const Mesh&) = default;
};

}  // namespace shardwise
