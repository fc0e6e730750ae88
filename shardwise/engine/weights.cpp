// The loader cuts with the same functions that the executor shapes with.
#include "shardwise/engine/weights.h"

#include <algorithm>
#include <set>

#include "shardwise/base/check.h"

namespace shardwise {

namespace {

// The run of a vector's elements that a rank holds: only its outermost dim may be cut.
Range elements(const Value& v, const Mesh& mesh, int rank) {
  Range r = range(v.shape[0], v.layout, mesh, rank);
  for (size_t i = 1; i < v.shape.size(); ++i) r = {r.begin * v.shape[i].size, r.size * v.shape[i].size};
  return r;
}

std::set<ValueId> norm_weights(const Program& p) {
  std::set<ValueId> ids;
  for (const Step& s : p.steps)
    if (const auto* c = std::get_if<Compute>(&s.op); c && (c->kind == OpKind::Norm || c->kind == OpKind::Rescale))
      ids.insert(c->in.back());
  // A weight that is moved before it is read keeps its role only in the original.
  for (const Step& s : p.steps)
    if (const auto* m = std::get_if<Collective>(&s.op); m && ids.count(m->out) > 0) ids.insert(m->in);
  return ids;
}

}  // namespace

RankWeights::RankWeights(const Program& p, int rank, float norm_offset) {
  const std::set<ValueId> norms = norm_weights(p);
  for (size_t id = 0; id < p.values.size(); ++id) {
    const Value& v = p.values[id];
    if (v.role != Value::Weight || v.stage != p.stage(rank)) continue;
    if (v.outputs > 0) {
      const Range rows = shardwise::rows(v, v.layout, p.mesh, rank), columns = held_columns(v, v.layout, p.mesh, rank);
      const Key key{v.tensor, v.first_row};
      if (matrices_.count(key) > 0) continue;
      const int64_t panels = (rows.size + kernel::kPanelRows - 1) / kernel::kPanelRows;
      Buffer packed(columns.size > 0 ? size_t(panels * kernel::panel_bytes(v.dtype, columns.size)) : 0);
      bytes_ += int64_t(packed.bytes());
      matrices_.emplace(key, Matrix{v.tensor, v.first_row + rows.begin, rows.size, columns.begin, columns.size, v.dtype,
                                    std::move(packed)});
    } else if (vectors_.count(v.tensor) == 0) {
      const Range own = elements(v, p.mesh, rank);
      Buffer data(size_t(own.size) * sizeof(float));
      bytes_ += int64_t(data.bytes());
      vectors_.emplace(v.tensor, Vector{v.tensor, own.begin, own.size, norms.count(ValueId(id)) > 0 ? norm_offset : 0,
                                        std::move(data)});
    }
  }
}

void RankWeights::load(const ModelFile& file, kernel::Share share, const std::function<void(int64_t)>& progress) {
  for (auto& [key, m] : matrices_) load_matrix(file, m, share, progress);
  if (share.worker != 0) return;
  for (auto& [key, v] : vectors_) load_vector(file, v);
}

void RankWeights::load_matrix(const ModelFile& file, Matrix& m, kernel::Share share,
                              const std::function<void(int64_t)>& progress) const {
  if (m.columns == 0) return;
  const TensorInfo& t = *file.tensor(m.tensor);
  const int64_t skip = storage_bytes(m.dtype, m.first_column), bytes = kernel::panel_bytes(m.dtype, m.columns);
  const int64_t panels = (m.rows + kernel::kPanelRows - 1) / kernel::kPanelRows;
  const int64_t begin = panels * share.worker / share.workers, end = panels * (share.worker + 1) / share.workers;
  for (int64_t i = begin; i < end; ++i) {
    const std::byte* rows[kernel::kPanelRows] = {};
    for (int64_t r = 0; r < kernel::kPanelRows && i * kernel::kPanelRows + r < m.rows; ++r)
      rows[r] = file.row(t, m.first_row + i * kernel::kPanelRows + r) + skip;
    kernel::pack_panel(m.dtype, m.columns, rows, m.packed.data() + i * bytes);
    progress(bytes);
  }
}

void RankWeights::load_vector(const ModelFile& file, Vector& v) const {
  if (v.size == 0) return;
  const TensorInfo& t = *file.tensor(v.tensor);
  const auto out = v.data.as<float>();
  dequantize(t.dtype, t.data + storage_bytes(t.dtype, v.first), out.first(size_t(v.size)));
  for (float& x : out) x += v.offset;
}

kernel::PackedMatrix RankWeights::matrix(const Value& v) const {
  const auto it = matrices_.find({v.tensor, v.first_row});
  CHECK(it != matrices_.end(), "weight {} ({}) is not on this rank", v.name, v.tensor);
  return {it->second.dtype, it->second.rows, it->second.columns, it->second.packed.data()};
}

const float* RankWeights::vector(const Value& v) const {
  const auto it = vectors_.find(v.tensor);
  CHECK(it != vectors_.end(), "weight {} ({}) is not on this rank", v.name, v.tensor);
  return reinterpret_cast<const float*>(it->second.data.data());
}

}  // namespace shardwise
