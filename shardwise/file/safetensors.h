// Reads the header of one safetensors file out of bytes in memory, trusting none of them. As the format demands, the
// tensors must fill the data without gap, overlap or rest.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/file/metadata.h"
#include "shardwise/file/tensor_info.h"

namespace shardwise {

// A tensor that is in the file but cannot serve as a weight: of a type such as I64, or without elements.
struct OpaqueTensor {
  std::string name;
  std::string why;  // "has type I64"
};

struct SafetensorsHeader {
  Metadata metadata;  // the texts of __metadata__
  std::vector<TensorInfo> tensors;
  std::vector<OpaqueTensor> opaque;
  uint64_t bytes = 0;  // up to the data
};

// `file` names the source in messages. Tensors point into `bytes`, or are null with FileScope::HeaderOnly.
Result<SafetensorsHeader> parse_safetensors(std::string_view file, std::span<const std::byte> bytes,
                                            FileScope = FileScope::Whole);

}  // namespace shardwise
