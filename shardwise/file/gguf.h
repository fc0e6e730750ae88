// Reads the header of one GGUF file (versions 2 and 3, little endian) out of bytes in memory, trusting none of them:
// every count, length, type and offset is checked against the bytes that are there before it is used.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/file/metadata.h"
#include "shardwise/file/tensor_info.h"

namespace shardwise {

// Tensor types have numbers of their own in GGUF.
struct GgmlType {
  std::string_view name;       // empty: no such type is known
  std::optional<DType> dtype;  // nothing: known, but Shardwise does not compute with it
};
GgmlType ggml_type(uint32_t id);
uint32_t ggml_type_id(DType);

struct GgufHeader {
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // in file order, distinct names, disjoint bytes
  uint64_t bytes = 0;               // up to the first tensor's data, padding included
};

// `file` names the source in messages. The result points into `bytes`. With FileScope::HeaderOnly the tensors' data may
// be absent and their pointers are null. Takes time and memory in proportion to the header that is really there.
Result<GgufHeader> parse_gguf(std::string_view file, std::span<const std::byte> bytes, FileScope = FileScope::Whole);

}  // namespace shardwise
