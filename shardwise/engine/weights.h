// What one rank holds of a model's weights: its own ranges, packed for the kernels, and not a byte more.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shardwise/file/model_file.h"
#include "shardwise/kernel/kernel.h"
#include "shardwise/program/program.h"
#include "shardwise/tensor/buffer.h"

namespace shardwise {

class RankWeights {
 public:
  // Makes room for every weight of the program that `rank` holds, and nothing else. Norms have `norm_offset` added.
  RankWeights(const Program&, int rank, float norm_offset);

  // Reads and packs one worker's share; all workers of the rank together read everything. `progress` hears of bytes
  // packed.
  void load(const ModelFile&, kernel::Share, const std::function<void(int64_t)>& progress);

  int64_t bytes() const { return bytes_; }

  // Of a weight of any program cut by the same plan.
  kernel::PackedMatrix matrix(const Value&) const;
  const float* vector(const Value&) const;

 private:
  struct Matrix {
    std::string tensor;
    int64_t first_row;  // in the tensor
    int64_t rows, first_column, columns;
    DType dtype;
    Buffer packed;
  };
  struct Vector {
    std::string tensor;
    int64_t first, size;
    float offset;
    Buffer data;
  };
  using Key = std::pair<std::string, int64_t>;  // tensor, first row of the whole matrix in it
  void load_matrix(const ModelFile&, Matrix&, kernel::Share, const std::function<void(int64_t)>& progress) const;
  void load_vector(const ModelFile&, Vector&) const;

  std::map<Key, Matrix> matrices_;
  std::map<std::string, Vector> vectors_;
  int64_t bytes_ = 0;
};

}  // namespace shardwise
