// Packing rows of a file into panels, and reading a row back. What each byte means: panel.h.
#include <cstring>

#include "shardwise/base/check.h"
#include "shardwise/kernel/kernel.h"
#include "shardwise/kernel/panel.h"
#include "shardwise/tensor/block.h"

namespace shardwise::kernel {
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// The offsets of a quantised panel, from the form of its type.
struct PanelShape {
  int bits, head_bytes, sub_bytes, scale_bytes;
  int64_t quant_bytes;  // of a packed block

  template <DType kType>
  static PanelShape of() {
    using F = FormOf<kType>;
    return {F::kBits, F::kHeadBytes, F::kSubBytes, F::kScaleBytes, F::kQuantBytes};
  }
};

PanelShape shape_of(DType t) {
  switch (t) {
    case DType::Q4_0: return PanelShape::of<DType::Q4_0>();
    case DType::Q4_1: return PanelShape::of<DType::Q4_1>();
    case DType::Q5_0: return PanelShape::of<DType::Q5_0>();
    case DType::Q5_1: return PanelShape::of<DType::Q5_1>();
    case DType::Q8_0: return PanelShape::of<DType::Q8_0>();
    case DType::Q2_K: return PanelShape::of<DType::Q2_K>();
    case DType::Q3_K: return PanelShape::of<DType::Q3_K>();
    case DType::Q4_K: return PanelShape::of<DType::Q4_K>();
    case DType::Q5_K: return PanelShape::of<DType::Q5_K>();
    case DType::Q6_K: return PanelShape::of<DType::Q6_K>();
    case DType::F32:
    case DType::F16:
    case DType::BF16: break;
  }
  CHECK(false, "{} is not quantised", info(t).name);
  return {};
}

uint32_t word_at(const uint8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return word;
}

void store_word(std::byte* plane, int vector, int64_t row, uint32_t word) {
  std::memcpy(plane + vector * kVectorBytes + row * 4, &word, 4);
}

uint32_t load_word(const std::byte* plane, int vector, int64_t row) {
  uint32_t word;
  std::memcpy(&word, plane + vector * kVectorBytes + row * 4, 4);
  return word;
}

constexpr uint32_t kEveryByte = 0x01010101;

// A plane of `bits` bits of a packed block: `shift` is where they lie in the quants. Four columns move as one word.
void put_plane(int bits, int shift, const uint8_t* q, int64_t row, std::byte* plane) {
  const int vectors = bits, stacked = 8 / bits;
  const uint32_t mask = bits == 8 ? ~0u : kEveryByte * ((1u << bits) - 1);
  for (int v = 0; v < vectors; ++v) {
    uint32_t word = 0;
    for (int k = 0; k < stacked; ++k) {
      const int group = bits == 4 ? v + 4 * k : v * stacked + k;
      word |= (word_at(q + group * 4) >> shift & mask) << (bits * k);
    }
    store_word(plane, v, row, word);
  }
}

void take_plane(int bits, int shift, const std::byte* plane, int64_t row, uint8_t* q) {
  const int vectors = bits, stacked = 8 / bits;
  const uint32_t mask = bits == 8 ? ~0u : kEveryByte * ((1u << bits) - 1);
  for (int v = 0; v < vectors; ++v) {
    for (int k = 0; k < stacked; ++k) {
      const int group = bits == 4 ? v + 4 * k : v * stacked + k;
      const uint32_t word = word_at(q + group * 4) | (load_word(plane, v, row) >> (bits * k) & mask) << shift;
      std::memcpy(q + group * 4, &word, 4);
    }
  }
}

// Calls f(bits, shift, offset of the plane in the packed block) for each plane of a quant of `bits` bits.
template <class F>
void each_plane(int bits, F f) {
  const int first = bits == 3 ? 2 : bits == 5 || bits == 6 ? 4 : bits;
  f(first, 0, 0);
  if (first < bits) f(bits - first, first, first * kVectorBytes);
}

// quants: of the first packed block of this block of the file; scales: of the block.
void put_block(const PanelShape& shape, const BlockForm& form, const BlockParts& parts, int64_t block, int64_t row,
               std::byte* quants, std::byte* scales) {
  for (int64_t b = 0; b < block / kBlockCols; ++b) {
    each_plane(shape.bits, [&](int bits, int shift, int offset) {
      put_plane(bits, shift, parts.q + b * kBlockCols, row, quants + b * shape.quant_bytes + offset);
    });
  }
  std::memcpy(scales + row * 2, &parts.d, 2);
  if (form.has_min) std::memcpy(scales + 32 + row * 2, &parts.m, 2);
  if (shape.sub_bytes == 0) return;
  std::byte* sub = scales + shape.head_bytes + row;
  for (int s = 0; s < block / form.sub_block; ++s, sub += shape.sub_bytes) {
    const bool shared = form.has_min && shape.sub_bytes == 16;
    sub[0] = static_cast<std::byte>(shared ? parts.scales[s] | parts.mins[s] << 4 : parts.scales[s]);
    if (shape.sub_bytes == 32) sub[16] = static_cast<std::byte>(parts.mins[s]);
  }
}

void take_block(const PanelShape& shape, const BlockForm& form, const std::byte* quants, const std::byte* scales,
                int64_t block, int64_t row, BlockParts& parts) {
  std::memset(parts.q, 0, sizeof parts.q);
  for (int64_t b = 0; b < block / kBlockCols; ++b) {
    each_plane(shape.bits, [&](int bits, int shift, int offset) {
      take_plane(bits, shift, quants + b * shape.quant_bytes + offset, row, parts.q + b * kBlockCols);
    });
  }
  parts.m = 0;
  std::memcpy(&parts.d, scales + row * 2, 2);
  if (form.has_min) std::memcpy(&parts.m, scales + 32 + row * 2, 2);
  const std::byte* sub = scales + shape.head_bytes + row;
  for (int s = 0; s < block / form.sub_block; ++s, sub += shape.sub_bytes) {
    const bool shared = form.has_min && shape.sub_bytes == 16;
    const uint8_t scale = shape.sub_bytes == 0 ? 1 : static_cast<uint8_t>(sub[0]);
    parts.scales[s] = static_cast<int8_t>(shared ? scale & 15 : scale);
    parts.mins[s] = shape.sub_bytes == 32 ? static_cast<uint8_t>(sub[16]) : shared ? scale >> 4 : 1;
  }
}

void pack_floats(int64_t bytes, int64_t cols, const std::byte* const* rows, std::byte* panel) {
  for (int64_t r = 0; r < kPanelRows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      std::byte* to = panel + (c * kPanelRows + r) * bytes;
      if (rows[r])
        std::memcpy(to, rows[r] + c * bytes, static_cast<size_t>(bytes));
      else
        std::memset(to, 0, static_cast<size_t>(bytes));
    }
  }
}

}  // namespace

int64_t panel_bytes(DType t, int64_t cols) {
  CHECK(cols >= 0 && cols % info(t).block == 0, "{} columns of {}, whose blocks hold {}", cols, info(t).name,
        info(t).block);
  if (!is_quantised(t)) return round_up(cols * kPanelRows * info(t).bytes, kVectorBytes);
  const PanelShape shape = shape_of(t);
  return round_up(cols / kBlockCols * shape.quant_bytes + cols / info(t).block * shape.scale_bytes, kVectorBytes);
}

void pack_panel(DType t, int64_t cols, const std::byte* const rows[kPanelRows], std::byte* panel) {
  const int64_t bytes = panel_bytes(t, cols);
  if (!is_quantised(t)) return pack_floats(info(t).bytes, cols, rows, panel);
  std::memset(panel, 0, static_cast<size_t>(bytes));
  const PanelShape shape = shape_of(t);
  const BlockForm& form = block_form(t);
  const int64_t block = info(t).block, packed = block / kBlockCols;
  std::byte* scales = panel + cols / kBlockCols * shape.quant_bytes;
  BlockParts parts;
  for (int64_t b = 0; b < cols / block; ++b) {
    for (int64_t r = 0; r < kPanelRows; ++r) {
      if (!rows[r]) continue;
      take_apart(t, rows[r] + b * info(t).bytes, parts);
      put_block(shape, form, parts, block, r, panel + b * packed * shape.quant_bytes, scales + b * shape.scale_bytes);
    }
  }
}

void unpack_row(const PackedMatrix& w, int64_t row, float* out) {
  CHECK(0 <= row && row < w.rows, "row {} of {}", row, w.rows);
  const std::byte* panel = w.data + row / kPanelRows * panel_bytes(w.dtype, w.cols);
  const int64_t r = row % kPanelRows;
  if (!is_quantised(w.dtype)) {
    const int64_t bytes = info(w.dtype).bytes;
    for (int64_t c = 0; c < w.cols; ++c) dequantize(w.dtype, panel + (c * kPanelRows + r) * bytes, {out + c, 1});
    return;
  }
  const PanelShape shape = shape_of(w.dtype);
  const BlockForm& form = block_form(w.dtype);
  const int64_t block = info(w.dtype).block;
  const std::byte* scales = panel + w.cols / kBlockCols * shape.quant_bytes;
  BlockParts parts;
  for (int64_t b = 0; b < w.cols / block; ++b) {
    take_block(shape, form, panel + b * (block / kBlockCols) * shape.quant_bytes, scales + b * shape.scale_bytes, block,
               r, parts);
    values(w.dtype, parts, {out + b * block, static_cast<size_t>(block)});
  }
}

}  // namespace shardwise::kernel
