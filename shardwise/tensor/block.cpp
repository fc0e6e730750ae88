// Taking quantised blocks apart, a function a family of formats. Field orders are those of the GGUF files: legacy
// blocks (32 wide) lead with their scales; K blocks (256 wide) keep 4- or 6-bit scales of their sub-blocks beside the
// quants.
#include "shardwise/tensor/block.h"

#include <algorithm>
#include <cstring>

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

constexpr BlockForm kForms[] = {
    {4, 8, 32, false},    // Q4_0
    {4, 0, 32, true},     // Q4_1
    {5, 16, 32, false},   // Q5_0
    {5, 0, 32, true},     // Q5_1
    {8, 128, 32, false},  // Q8_0
    {2, 0, 16, true},     // Q2_K
    {3, 4, 16, false},    // Q3_K
    {4, 0, 32, true},     // Q4_K
    {5, 0, 32, true},     // Q5_K
    {6, 32, 16, false},   // Q6_K
};

uint16_t half_at(const uint8_t* in) {
  uint16_t bits;
  std::memcpy(&bits, in, 2);
  return bits;
}

void no_sub_scales(BlockParts& p) {
  std::fill_n(p.scales, kMaxSubBlocks, int8_t{1});
  std::fill_n(p.mins, kMaxSubBlocks, uint8_t{1});
}

// [d][m, with a min][32 high bits, of 5-bit types][16 bytes: element i low, element i + 16 high]. These types add their
// minimum; here it is subtracted, so its sign is turned.
void legacy(const BlockForm& form, const uint8_t* in, BlockParts& p) {
  no_sub_scales(p);
  p.d = half_at(in), in += 2;
  p.m = 0;
  if (form.has_min) p.m = half_at(in) ^ 0x8000, in += 2;
  uint32_t high = 0;
  if (form.bits == 5) std::memcpy(&high, in, 4), in += 4;
  for (int i = 0; i < 16; ++i) {
    p.q[i] = static_cast<uint8_t>((in[i] & 15) | (high >> i & 1) << 4);
    p.q[i + 16] = static_cast<uint8_t>(in[i] >> 4 | (high >> (i + 16) & 1) << 4);
  }
}

void q8_0(const uint8_t* in, BlockParts& p) {
  no_sub_scales(p);
  p.d = half_at(in), p.m = 0;
  for (int i = 0; i < 32; ++i) p.q[i] = in[2 + i] ^ 128;  // signed to unsigned with offset 128
}

// [16 bytes: scale low, min high][64 bytes of 2 bits][d][dmin]. Each 128 elements take 32 bytes, 32 elements a bit
// pair.
void two_bits(const uint8_t* quants, uint8_t* q) {
  for (int i = 0; i < 256; ++i) q[i] = quants[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

void q2_k(const uint8_t* in, BlockParts& p) {
  for (int s = 0; s < 16; ++s) p.scales[s] = static_cast<int8_t>(in[s] & 15), p.mins[s] = in[s] >> 4;
  two_bits(in + 16, p.q);
  p.d = half_at(in + 80), p.m = half_at(in + 82);
}

// [32 bytes of third bits][64 bytes of 2 bits][12 bytes: 16 scales of 6 bits, offset 32][d]
void q3_k(const uint8_t* in, BlockParts& p) {
  two_bits(in + 32, p.q);
  for (int i = 0; i < 256; ++i) p.q[i] |= static_cast<uint8_t>((in[i % 32] >> (i / 32) & 1) << 2);
  const uint8_t* scales = in + 96;
  for (int s = 0; s < 16; ++s) {
    const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;
    const int high = scales[8 + s % 4] >> (s / 4 * 2) & 3;
    p.scales[s] = static_cast<int8_t>((low | high << 4) - 32);
  }
  std::fill_n(p.mins, kMaxSubBlocks, uint8_t{0});
  p.d = half_at(in + 108), p.m = 0;
}

// 12 bytes: 8 scales and 8 mins of 6 bits. The last four of each lie in nibbles, with their high bits above the first
// four.
void six_bit_scales(const uint8_t* in, BlockParts& p) {
  for (int s = 0; s < 4; ++s) {
    p.scales[s] = static_cast<int8_t>(in[s] & 63);
    p.mins[s] = in[s + 4] & 63;
    p.scales[s + 4] = static_cast<int8_t>((in[s + 8] & 15) | in[s] >> 6 << 4);
    p.mins[s + 4] = static_cast<uint8_t>(in[s + 8] >> 4 | in[s + 4] >> 6 << 4);
  }
}

// [d][dmin][12 bytes of scales][32 bytes of fifth bits, Q5_K][128 bytes: each 32 hold 32 elements low, the next 32
// high]
void q45_k(bool five, const uint8_t* in, BlockParts& p) {
  p.d = half_at(in), p.m = half_at(in + 2);
  six_bit_scales(in + 4, p);
  const uint8_t* high = in + 16;
  const uint8_t* quants = high + (five ? 32 : 0);
  for (int i = 0; i < 256; ++i) {
    p.q[i] = quants[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
    if (five) p.q[i] |= static_cast<uint8_t>((high[i % 32] >> (i / 32) & 1) << 4);
  }
}

// [128 bytes of low 4 bits][64 bytes of high 2 bits][16 signed scales][d]. Each 128 elements take 64 and 32 bytes.
void q6_k(const uint8_t* in, BlockParts& p) {
  for (int i = 0; i < 256; ++i) {
    const int part = i / 128, within = i % 128;
    const int low = in[part * 64 + within % 64] >> (within / 64 * 4) & 15;
    const int high = in[128 + part * 32 + within % 32] >> (within / 32 * 2) & 3;
    p.q[i] = static_cast<uint8_t>(low | high << 4);
  }
  std::memcpy(p.scales, in + 192, 16);
  std::fill_n(p.mins, kMaxSubBlocks, uint8_t{0});
  p.d = half_at(in + 208), p.m = 0;
}

}  // namespace

const BlockForm& block_form(DType t) {
  CHECK(is_quantised(t), "{} has no blocks", info(t).name);
  return kForms[static_cast<int>(t) - static_cast<int>(DType::Q4_0)];
}

void take_apart(DType t, const std::byte* block, BlockParts& parts) {
  const uint8_t* in = reinterpret_cast<const uint8_t*>(block);
  switch (t) {
    case DType::Q4_0:
    case DType::Q4_1:
    case DType::Q5_0:
    case DType::Q5_1: return legacy(block_form(t), in, parts);
    case DType::Q8_0: return q8_0(in, parts);
    case DType::Q2_K: return q2_k(in, parts);
    case DType::Q3_K: return q3_k(in, parts);
    case DType::Q4_K: return q45_k(false, in, parts);
    case DType::Q5_K: return q45_k(true, in, parts);
    case DType::Q6_K: return q6_k(in, parts);
    case DType::F32:
    case DType::F16:
    case DType::BF16: break;
  }
  CHECK(false, "{} has no blocks", info(t).name);
}

void values(DType t, const BlockParts& parts, std::span<float> out) {
  const BlockForm& form = block_form(t);
  const float d = f16_to_f32(parts.d), m = f16_to_f32(parts.m);
  for (size_t s = 0; s < out.size() / static_cast<size_t>(form.sub_block); ++s) {
    const float scale = d * static_cast<float>(parts.scales[s]);  // exact: 11 bits times 8
    const float min = m * static_cast<float>(parts.mins[s]);
    for (size_t i = s * form.sub_block; i < (s + 1) * form.sub_block; ++i) {
      const float scaled = scale * static_cast<float>(parts.q[i] - form.offset);  // exact as well
      out[i] = form.has_min ? scaled - min : scaled;
    }
  }
}

}  // namespace shardwise
