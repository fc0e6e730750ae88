// What each instruction set provides: a table of functions over plain structs, filled by isa_*.cpp. No inline functions
// here or in what it includes, other than constants: code compiled for one instruction set must not leak into others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shardwise/kernel/panel.h"

// Every operation of the kernels' inner loops must be inlined, every tile must not.
#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

namespace shardwise::kernel {

// One worker's part of a linear: some whole panels, all tokens.
struct LinearPart {
  const std::byte* panels = nullptr;
  int64_t panel_bytes = 0, panel_count = 0;
  int64_t rows = 0;  // of these panels; the last may not be full
  int64_t cols = 0;
  const QuantizedBlock* quantized = nullptr;  // quantised types: [group][cols / 32][slots]
  int64_t slots = 0;                          // tokens of a group
  const float* x = nullptr;                   // float types: [tokens], x_stride apart
  int64_t x_stride = 0;
  int64_t tokens = 0;
  float* y = nullptr;  // at the first row of the part; or null, and results go to `wide`
  double* wide = nullptr;
  int64_t y_stride = 0;
  int64_t chunk = 0;  // columns summed in f32; 0: all
};
using LinearFn = void (*)(const LinearPart&);

inline constexpr int kMaxQueries = 32;  // of an attention tile
inline constexpr int64_t kMaxHeadSize = 1024;

// Some query heads of one KV head, for neighbouring tokens of one sequence: tokens * heads <= kMaxQueries.
struct AttendTile {
  const float* q = nullptr;  // of the first token and head
  int64_t q_stride = 0;      // floats from token to token
  int tokens = 0, heads = 0;
  int64_t head_size = 0;
  const int32_t* positions = nullptr;  // of the tokens
  const void* pages = nullptr;         // kernel.h's Page, page_count of them
  int64_t page_count = 0;
  int64_t head_offset = 0;  // bytes from the start of a page to this KV head
  int64_t window = 0;
  float scale = 1;
  bool half = true;      // f16 cache
  float* out = nullptr;  // or null, and sums go to `wide`
  double* wide = nullptr;
  int64_t out_stride = 0, out_head = 0;  // elements from token to token, from head to head
};

struct PageView {  // the same fields as kernel.h's Page
  const std::byte* data;
  const int32_t* positions;
};

struct Kernels {
  LinearFn linear[13] = {};  // by DType
  // 32 elements.
  void (*quantize)(const float* x, QuantizedBlock& out) = nullptr;
  void (*attend)(const AttendTile&) = nullptr;
  float (*sum_squares)(const float* x, int64_t width) = nullptr;
  void (*scale_row)(const float* x, float factor, const float* weight, int64_t width, float* y) = nullptr;
  void (*silu)(const float* g, const float* up, int64_t n, float* y) = nullptr;
  void (*gelu_tanh)(const float* g, const float* up, int64_t n, float* y) = nullptr;
  void (*add)(const float* a, const float* b, int64_t n, float* y) = nullptr;
  void (*sin_cos)(int32_t position, const float* frequencies, int64_t n, float magnitude, float* sines,
                  float* cosines) = nullptr;
  // n pairs: (x[i], x[i + apart]), or (x[2 i], x[2 i + 1]) where apart is 0.
  void (*rotate)(const float* x, int64_t n, int64_t apart, const float* sines, const float* cosines,
                 float* y) = nullptr;
  void (*to_half)(const float* x, int64_t n, uint16_t* out) = nullptr;
};

extern const Kernels kPlainKernels, kAvx2Kernels, kAvx512Kernels;
const Kernels& amx_kernels();
const Kernels& kernels();  // of the instruction set in use

}  // namespace shardwise::kernel
