// What a model file says of one tensor, and where its bytes lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shardwise/tensor/dtype.h"

namespace shardwise {

// How much of a file must be there: all of it, or only the part that describes the tensors (for planning).
enum class FileScope { Whole, HeaderOnly };

// REQUIRES of whoever makes one: bytes == storage_bytes(dtype, product of shape), and each row a whole number of
// blocks.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;  // row-major, outermost first: {rows, cols}; {} is a single number (safetensors only)
  const std::byte* data = nullptr;  // in the mapped file; null when only the header was opened. GGUF aligns it to
                                    // general.alignment (8 or more), safetensors promises nothing: read with memcpy
  int64_t bytes = 0;
};

inline int64_t columns(const TensorInfo& tensor) { return tensor.shape.empty() ? 1 : tensor.shape.back(); }

inline int64_t rows(const TensorInfo& tensor) {  // of all outer dims together
  int64_t product = 1;
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) product *= tensor.shape[i];
  return product;
}

}  // namespace shardwise
