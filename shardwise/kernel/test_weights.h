// For tests: random weights in every type, packed and as floats, and memory aligned as the engine's is.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "shardwise/kernel/kernel.h"
#include "shardwise/tensor/block.h"

namespace shardwise::kernel {

inline constexpr DType kEveryType[] = {DType::F32,  DType::F16,  DType::BF16, DType::Q4_0, DType::Q4_1,
                                       DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q2_K, DType::Q3_K,
                                       DType::Q4_K, DType::Q5_K, DType::Q6_K};
inline constexpr Isa kEveryIsa[] = {Isa::Plain, Isa::Avx2, Isa::Avx512, Isa::Amx};

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using AlignedBytes = std::unique_ptr<std::byte[], Free>;

inline AlignedBytes aligned_bytes(int64_t bytes) {
  return AlignedBytes(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>((bytes + 64) / 64 * 64))));
}

// Puts back the instruction set in use.
struct IsaScope {
  Isa before = isa();
  explicit IsaScope(Isa isa) { use_isa(isa); }
  ~IsaScope() { use_isa(before); }
};

// The f16 fields of a block, where all other bits may be anything.
inline std::vector<int> half_fields(DType t) {
  switch (t) {
    case DType::Q4_0:
    case DType::Q5_0:
    case DType::Q8_0: return {0};
    case DType::Q4_1:
    case DType::Q5_1:
    case DType::Q4_K:
    case DType::Q5_K: return {0, 2};
    case DType::Q2_K: return {80, 82};
    case DType::Q3_K: return {108};
    case DType::Q6_K: return {208};
    default: return {};
  }
}

struct Weights {
  int64_t rows, cols;
  std::vector<std::byte> file;  // as a file would hold them
  std::vector<float> values;    // by dequantize
  AlignedBytes panels;
  PackedMatrix packed;
};

// The values and panels of what lies in w.file.
inline void finish(Weights& w, DType t) {
  w.values.resize(static_cast<size_t>(w.rows * w.cols));
  dequantize(t, w.file.data(), w.values);
  w.packed = {t, w.rows, w.cols, nullptr};
  const int64_t bytes = panel_bytes(t, w.cols);
  w.panels = aligned_bytes(bytes * w.packed.panels());
  for (int64_t p = 0; p < w.packed.panels(); ++p) {
    const std::byte* of_rows[kPanelRows];
    for (int64_t r = 0; r < kPanelRows; ++r) {
      const int64_t row = p * kPanelRows + r;
      of_rows[r] = row < w.rows ? w.file.data() + row * storage_bytes(t, w.cols) : nullptr;
    }
    pack_panel(t, w.cols, of_rows, w.panels.get() + p * bytes);
  }
  w.packed.data = w.panels.get();
}

// Random bits everywhere. scale: of the f16 fields, normally distributed; 0 makes them any finite f16.
inline Weights random_weights(DType t, int64_t rows, int64_t cols, uint32_t seed, float scale = 0.02f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale > 0 ? scale : 1);
  Weights w{rows, cols, std::vector<std::byte>(static_cast<size_t>(storage_bytes(t, rows * cols))), {}, {}, {}};
  const auto put = [&](size_t at, const void* from, size_t n) { std::memcpy(w.file.data() + at, from, n); };
  if (is_quantised(t)) {
    for (std::byte& b : w.file) b = static_cast<std::byte>(random());
    for (size_t block = 0; block < w.file.size(); block += static_cast<size_t>(info(t).bytes)) {
      for (int field : half_fields(t)) {
        uint16_t half = f32_to_f16(normal(random));
        while (scale == 0 && (half = static_cast<uint16_t>(random()), (half & 0x7c00) == 0x7c00)) continue;
        put(block + static_cast<size_t>(field), &half, 2);
      }
    }
  } else {
    for (int64_t i = 0; i < rows * cols; ++i) {
      const float v = normal(random);
      uint32_t bits;
      std::memcpy(&bits, &v, 4);
      const uint16_t half = t == DType::F16 ? f32_to_f16(v) : static_cast<uint16_t>(bits >> 16);
      const size_t n = static_cast<size_t>(info(t).bytes);
      put(static_cast<size_t>(i) * n, t == DType::F32 ? static_cast<const void*>(&v) : &half, n);
    }
  }
  finish(w, t);
  return w;
}

// Columns [from, to), whole blocks, as a matrix of its own.
inline Weights columns(const Weights& w, int64_t from, int64_t to) {
  const DType t = w.packed.dtype;
  Weights part{w.rows, to - from, {}, {}, {}, {}};
  for (int64_t r = 0; r < w.rows; ++r) {
    const auto row = w.file.begin() + storage_bytes(t, r * w.cols);
    part.file.insert(part.file.end(), row + storage_bytes(t, from), row + storage_bytes(t, to));
  }
  finish(part, t);
  return part;
}

inline std::vector<float> random_floats(size_t n, uint32_t seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

}  // namespace shardwise::kernel
