// A quantised block taken apart into plain integers and scales, whatever its type: what dequantize and the packing of
// weights share. Nothing is rounded: the parts hold exactly what the file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shardwise/tensor/dtype.h"

namespace shardwise {

inline constexpr int kMaxBlock = 256;
inline constexpr int kMaxSubBlocks = 16;

// element i of the block = d * scales[s] * (q[i] - offset) - m * mins[s],  s = i / sub_block
struct BlockForm {
  int bits;       // of q
  int offset;     // subtracted from q
  int sub_block;  // elements that share a scale; the whole block where it has no finer scales
  bool has_min;
};
const BlockForm& block_form(DType);  // REQUIRES is_quantised

struct BlockParts {
  uint8_t q[kMaxBlock];
  uint16_t d = 0, m = 0;         // f16, as bits; m is 0 without a min
  int8_t scales[kMaxSubBlocks];  // 1 where the block has no finer scales
  uint8_t mins[kMaxSubBlocks];   // likewise
};
void take_apart(DType, const std::byte* block, BlockParts& parts);

// The block as floats; each is rounded once at most. out: info(type).block elements.
void values(DType, const BlockParts& parts, std::span<float> out);

}  // namespace shardwise
