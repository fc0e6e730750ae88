// The table of element types, half-precision conversion and the reference dequantiser. Formats: the GGUF file format's
// published block layouts (ggml).
#include "shardwise/tensor/dtype.h"

#include <cstring>

#include "shardwise/base/check.h"
#include "shardwise/tensor/block.h"

namespace shardwise {
namespace {

constexpr DTypeInfo kInfo[] = {
    {"F32", 1, 4},      {"F16", 1, 2},      {"BF16", 1, 2},     {"Q4_0", 32, 18},  {"Q4_1", 32, 20},
    {"Q5_0", 32, 22},   {"Q5_1", 32, 24},   {"Q8_0", 32, 34},   {"Q2_K", 256, 84}, {"Q3_K", 256, 110},
    {"Q4_K", 256, 144}, {"Q5_K", 256, 176}, {"Q6_K", 256, 210},
};

void dequantize_floats(DType t, const std::byte* in, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (t == DType::F32) {
      std::memcpy(&out[i], in + 4 * i, 4);
      continue;
    }
    uint16_t bits;
    std::memcpy(&bits, in + 2 * i, 2);
    out[i] = t == DType::F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
}

}  // namespace

const DTypeInfo& info(DType t) { return kInfo[static_cast<size_t>(t)]; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kInfo); ++i)
    if (kInfo[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

float f16_to_f32(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16;
  const uint32_t exponent = (h >> 10) & 31, fraction = h & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) {  // zero and subnormals: fraction * 2^-24, exact
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t f32_to_f16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to 65536 or more
  if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 leaves the multiple of 2^-24 in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}

void dequantize(DType t, const std::byte* blocks, std::span<float> out) {
  if (!is_quantised(t)) return dequantize_floats(t, blocks, out);
  const auto [name, block, bytes] = info(t);
  CHECK(static_cast<int64_t>(out.size()) % block == 0, "{} elements of {}, whose blocks hold {}", out.size(), name,
        block);
  BlockParts parts;
  for (size_t at = 0; at < out.size(); at += block, blocks += bytes) {
    take_apart(t, blocks, parts);
    values(t, parts, out.subspan(at, block));
  }
}

}  // namespace shardwise
