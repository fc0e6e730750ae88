// How a panel of 16 rows lies in memory, the same for every instruction set, and how quantised activations do.
// Types and constants only, no functions: this header is compiled with different instruction sets into one program.
//
// Quantised weights, for each block of 32 columns, in bit planes. A vector of 64 bytes is 16 rows x 4 columns (row r,
// column c of its group at byte 4 r + c); a block has 8 such groups. Where a plane has fewer than 8 bits, a vector
// holds several groups, one above the other:
//   4 bits: 4 vectors, vector v = group v low, group v + 4 high
//   2 bits: 2 vectors, vector v = groups 4 v + k at bits 2 k
//   1 bit:  1 vector, group k at bit k
//   8 bits: 8 vectors
// A quant of 3 bits is planes of 2 + 1, of 5 bits 4 + 1, of 6 bits 4 + 2. The scales follow all quants of the panel:
// for each block of the file [d: 16 f16][m: 16 f16, with a min][each sub-block: 16 scales of 8 bits, 16 mins of 8
// bits], Q2_K's scale and min in one byte. Float weights: [column][16 rows].
#pragma once

#include <cstdint>

#include "shardwise/tensor/dtype.h"

namespace shardwise::kernel {

inline constexpr int kBlockCols = 32;  // columns that a packed block of quants covers
inline constexpr int kVectorBytes = 64;

// The form of a quantised type as the kernels see it; tensor/block.h says what a value is.
template <int kBitsOf, int kOffsetOf, int kSubOf, bool kMinOf, int kBlockOf, bool kSharedByteOf = false>
struct Form {
  static constexpr int kBits = kBitsOf;
  static constexpr int kOffset = kOffsetOf;
  static constexpr bool kHasMin = kMinOf;
  static constexpr int kBlocks = kBlockOf / kBlockCols;            // packed blocks in a block of the file
  static constexpr int kSubBlocks = kBlockOf / kSubOf;             // sub-blocks in a block of the file
  static constexpr int kHalves = kBlockCols / kSubOf;              // sub-blocks in a packed block: 1 or 2
  static constexpr bool kSubScales = kBlockOf > kBlockCols;        // finer scales than d and m
  static constexpr bool kSharedByte = kSharedByteOf;               // a sub-block's scale and min in one byte
  static constexpr int kQuantBytes = kBlockCols * 16 * kBits / 8;  // of a packed block
  static constexpr int kHeadBytes = kMinOf ? 64 : 32;              // d and m
  static constexpr int kSubBytes = !kSubScales ? 0 : kMinOf && !kSharedByte ? 32 : 16;        // of a sub-block
  static constexpr int kScaleBytes = kHeadBytes + (kSubScales ? kSubBlocks * kSubBytes : 0);  // of a block of the file
};

template <DType>
struct FormOf;
template <>
struct FormOf<DType::Q4_0> : Form<4, 8, 32, false, 32> {};
template <>
struct FormOf<DType::Q4_1> : Form<4, 0, 32, true, 32> {};
template <>
struct FormOf<DType::Q5_0> : Form<5, 16, 32, false, 32> {};
template <>
struct FormOf<DType::Q5_1> : Form<5, 0, 32, true, 32> {};
template <>
struct FormOf<DType::Q8_0> : Form<8, 128, 32, false, 32> {};
template <>
struct FormOf<DType::Q2_K> : Form<2, 0, 16, true, 256, true> {};
template <>
struct FormOf<DType::Q3_K> : Form<3, 4, 16, false, 256> {};
template <>
struct FormOf<DType::Q4_K> : Form<4, 0, 32, true, 256> {};
template <>
struct FormOf<DType::Q5_K> : Form<5, 0, 32, true, 256> {};
template <>
struct FormOf<DType::Q6_K> : Form<6, 32, 16, false, 256> {};

// 32 columns of a token as 8-bit integers: x = scale * q. They lie [group of tokens][block][token of the group], so
// that a tile of tokens reads one stream; slots without a token hold zeros. A few tokens make one small group.
struct QuantizedBlock {
  int8_t q[kBlockCols];
  float scale;
  float sum, low, high;  // of q: over all 32, the first 16, the last 16; whole numbers, exact
};
static_assert(sizeof(QuantizedBlock) == 48);

inline constexpr int kFewTokens = 4;
inline constexpr int kTileTokens = 16;

}  // namespace shardwise::kernel
