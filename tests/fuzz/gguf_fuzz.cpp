// libFuzzer target: any bytes, taken as GGUF and as safetensors, are refused or describe tensors that lie inside them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "shardwise/base/check.h"
#include "shardwise/file/gguf.h"
#include "shardwise/file/safetensors.h"

namespace {

void check_inside(std::span<const std::byte> bytes, const std::vector<shardwise::TensorInfo>& tensors) {
  for (const auto& tensor : tensors) {
    CHECK(tensor.data >= bytes.data() && tensor.bytes >= 0, "tensor '{}'", tensor.name);
    CHECK(tensor.data + tensor.bytes <= bytes.data() + bytes.size(), "tensor '{}'", tensor.name);
    CHECK(tensor.bytes == storage_bytes(tensor.dtype, rows(tensor) * columns(tensor)), "tensor '{}'", tensor.name);
  }
}

void decode_all(const shardwise::Metadata& metadata) {
  for (const auto& [key, value] : metadata.entries()) {
    (void)describe(value);
    (void)metadata.strings(key);
    (void)metadata.integers(key);
    (void)metadata.numbers(key);
    (void)metadata.flags(key);
    CHECK(metadata.find(key) == &value, "key '{}'", key);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto gguf = shardwise::parse_gguf("fuzz.gguf", bytes)) {
    check_inside(bytes, gguf->tensors);
    decode_all(gguf->metadata);
  }
  (void)shardwise::parse_gguf("fuzz.gguf", bytes, shardwise::FileScope::HeaderOnly);
  if (const auto safetensors = shardwise::parse_safetensors("fuzz.safetensors", bytes)) {
    check_inside(bytes, safetensors->tensors);
    decode_all(safetensors->metadata);
  }
  return 0;
}
