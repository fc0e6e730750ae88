// Where a rank stands in the mesh. Ranks are row-major: the last axis is the minor one, its neighbours differ by one.
#include "shardwise/mesh/mesh.h"

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

// How far apart in rank two neighbours along `axis` are.
int stride(const Mesh& mesh, int axis) {
  int ranks = 1;
  for (size_t minor = size_t(axis) + 1; minor < mesh.axes.size(); ++minor) ranks *= mesh.axes[minor].size;
  return ranks;
}

void check_axis(const Mesh& mesh, int axis) {
  CHECK(axis >= 0 && size_t(axis) < mesh.axes.size(), "axis {} of a mesh of {} axes", axis, mesh.axes.size());
}

}  // namespace

int Mesh::ranks() const {
  int product = 1;
  for (const MeshAxis& one : axes) product *= one.size;
  return product;
}

int Mesh::axis(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name) return int(i);
  }
  return -1;
}

int Mesh::coord(int rank, int axis) const {
  check_axis(*this, axis);
  CHECK(rank >= 0 && rank < ranks(), "rank {} of a mesh of {} ranks", rank, ranks());
  return rank / stride(*this, axis) % size(axis);
}

std::vector<int> Mesh::group(int rank, int axis) const {
  const int step = stride(*this, axis);
  const int first = rank - coord(rank, axis) * step;
  std::vector<int> members(static_cast<size_t>(size(axis)));
  for (int i = 0; i < size(axis); ++i) members[size_t(i)] = first + i * step;
  return members;
}

const std::vector<int>& Mesh::weights(Dim dim, int axis) const {
  check_axis(*this, axis);
  const MeshAxis& one = axes[size_t(axis)];
  const auto own = one.dim_weights.find(dim);
  return own == one.dim_weights.end() ? one.weights : own->second;
}

}  // namespace shardwise
