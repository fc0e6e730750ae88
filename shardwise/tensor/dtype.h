// Element types of tensors, and the blocks in which quantised ones are stored (the formats of GGUF files).
// A row of a quantised tensor is a whole number of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shardwise {

enum class DType : uint8_t { F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K };

// block: elements that share a scale; bytes: of one block as stored in the file.
struct DTypeInfo {
  std::string_view name;
  int64_t block;
  int64_t bytes;
};
const DTypeInfo& info(DType);

inline bool is_quantised(DType t) { return info(t).block > 1; }

// Bytes of `elements` elements; REQUIRES a whole number of blocks.
inline int64_t storage_bytes(DType t, int64_t elements) { return elements / info(t).block * info(t).bytes; }

std::optional<DType> dtype_named(std::string_view name);  // "Q4_K"; nothing for an unknown name

float f16_to_f32(uint16_t);
uint16_t f32_to_f16(float);  // rounds to nearest even
inline float bf16_to_f32(uint16_t);

// The plain reference: `out.size()` elements, a whole number of blocks, as floats. Kernels are tested against it.
void dequantize(DType, const std::byte* blocks, std::span<float> out);

}  // namespace shardwise

#include <bit>
inline float shardwise::bf16_to_f32(uint16_t h) { return std::bit_cast<float>(uint32_t(h) << 16); }
