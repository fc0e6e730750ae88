// The kernels for AVX-512 with AMX: tiles of 8-bit integers multiply 16 tokens with a panel at once, for weight types
// with one scale for 32 columns (with two the tiles would be half empty, and no faster). All else goes to the kernels
// for AVX-512. Results are the same bits: sums of integers are exact, and the rest is done in the same order.
#include <immintrin.h>
#include <math.h>

#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

#include "shardwise/kernel/lanes_avx512.inl"
#include "shardwise/kernel/linear.inl"

constexpr int64_t kLeastTokens = 9;  // for which a tile is faster

// Tile register 0: sums [16 tokens][16 rows] of i32; 1: activations [16 tokens][32 columns]; 2: weights [8 groups of
// columns][16 rows][4 columns].
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t column_bytes[16] = {};
  uint8_t rows[16] = {};
};

// The tile intrinsics do not tell the compiler what memory they read: everything stored before must be there.
INLINE void finish_stores(const void* to) { asm volatile("" ::"r"(to) : "memory"); }

void load_shapes() {
  TileShapes shapes;
  shapes.column_bytes[0] = shapes.column_bytes[2] = kVectorBytes;
  shapes.column_bytes[1] = kBlockCols;
  shapes.rows[0] = shapes.rows[1] = kTileTokens;
  shapes.rows[2] = kGroups;
  finish_stores(&shapes);
  _tile_loadconfig(&shapes);
}

// A packed block on its way through three stages: weights out of their planes, their products with the tokens, and the
// products scaled and added. A stage works on the block after the next stage's, so that no load waits for a store.
struct Staged {
  alignas(64) int8_t weights[kGroups][kVectorBytes];
  alignas(64) int32_t dots[kTileTokens][16];
  Floats scale[2], min[2];
};

template <class Form>
INLINE void unpack_block(const uint8_t* quants, const Scales<Form>& scales, int i, Staged& to) {
  Bytes w[kGroups];
  take_quants<Form::kBits>(quants, w);
  const Bytes offset = _mm512_set1_epi8(static_cast<char>(Form::kOffset));
  unroll<kGroups>([&](auto g) {
    const Bytes centred = Form::kOffset == 0 ? w[g.kValue] : _mm512_sub_epi8(w[g.kValue], offset);
    _mm512_store_si512(to.weights[g.kValue], centred);
  });
  take_scales(scales, i, to.scale, to.min);
}

INLINE void multiply_block(const QuantizedBlock* x, Staged& of) {
  finish_stores(&of);
  _tile_zero(0);
  _tile_loadd(1, x->q, sizeof(QuantizedBlock));
  _tile_loadd(2, of.weights, kVectorBytes);
  _tile_dpbssd(0, 1, 2);
  _tile_stored(0, of.dots, kVectorBytes);
}

template <class Form>
INLINE void add_staged(const Staged& from, const QuantizedBlock* x, Floats (&sums)[kTileTokens]) {
  unroll<kTileTokens>([&](auto m) {
    const Floats dots[2] = {to_floats(_mm512_load_si512(from.dots[m.kValue])), every(0)};
    sums[m.kValue] = add_block<Form>(sums[m.kValue], dots, from.scale, from.min, x[m.kValue]);
  });
}

// A panel against 16 tokens, of which tile.tokens are stored.
template <class Form>
NOINLINE void amx_tile(const uint8_t* panel, int64_t blocks, int64_t rows, const Tile& tile) {
  static_assert(Form::kHalves == 1);
  const uint8_t* scales_at = panel + blocks * Form::kQuantBytes;
  constexpr int64_t kStages = 4;  // one more than are in use, for a cheap remainder
  Staged staged[kStages];
  Floats sums[kTileTokens];
  unroll<kTileTokens>([&](auto m) { sums[m.kValue] = every(0); });
  Chunks<kTileTokens, kLanes> chunks(tile.chunk);
  const auto unpack = [&](int64_t b) {
    const Scales<Form> scales(scales_at + b / Form::kBlocks * Form::kScaleBytes, 0);
    unpack_block<Form>(panel + b * Form::kQuantBytes, scales, static_cast<int>(b % Form::kBlocks), staged[b % kStages]);
  };
  const auto multiply = [&](int64_t b) { multiply_block(tile.x + b * kTileTokens, staged[b % kStages]); };
  unpack(0);
  multiply(0);
  if (blocks > 1) unpack(1);
  for (int64_t b = 0; b < blocks; ++b) {
    if (b + 2 < blocks) unpack(b + 2);
    if (b + 1 < blocks) multiply(b + 1);
    add_staged<Form>(staged[b % kStages], tile.x + b * kTileTokens, sums);
    if (!chunks.full()) continue;
    unroll<kTileTokens>([&](auto m) {
      add_wide(chunks.sums[m.kValue], sums[m.kValue], kLanes);
      sums[m.kValue] = every(0);
    });
  }
  unroll<kTileTokens>([&](auto m) {
    if (m.kValue < tile.tokens) store_rows(sums[m.kValue], chunks.of(m.kValue, 0), tile.out(m.kValue), 0, rows);
  });
}

// Whole tiles here; a rest of few tokens as the kernels for AVX-512 do it.
template <class Form, DType kType>
void linear_amx(const LinearPart& p) {
  const int64_t rest = p.tokens % kTileTokens, blocks = p.cols / kBlockCols;
  LinearPart most = p;
  most.tokens = rest < kLeastTokens ? p.tokens - rest : p.tokens;
  if (most.tokens > 0 && blocks > 0) {
    load_shapes();
    each_tile(most, kTileTokens, [&](int64_t first, int64_t end, int64_t from, int64_t tokens) {
      for (int64_t panel = first; panel < end; ++panel) {
        Tile tile = tile_at(p, from, tokens);
        tile.to_panel(panel);
        amx_tile<Form>(reinterpret_cast<const uint8_t*>(p.panels) + panel * p.panel_bytes, blocks, p.rows - panel * 16,
                       tile);
      }
    });
    _tile_release();
  }
  if (most.tokens == p.tokens) return;
  LinearPart few = p;
  few.quantized = tile_at(p, most.tokens, rest).x;
  few.tokens = rest;
  if (few.y != nullptr) few.y += most.tokens * p.y_stride;
  if (few.wide != nullptr) few.wide += most.tokens * p.y_stride;
  kAvx512Kernels.linear[static_cast<int>(kType)](few);
}

template <DType kType>
void use_tiles(Kernels& k) {
  k.linear[static_cast<int>(kType)] = linear_amx<FormOf<kType>, kType>;
}

Kernels with_tiles() {
  Kernels k = kAvx512Kernels;
  use_tiles<DType::Q4_0>(k);
  use_tiles<DType::Q4_1>(k);
  use_tiles<DType::Q5_0>(k);
  use_tiles<DType::Q5_1>(k);
  use_tiles<DType::Q8_0>(k);
  use_tiles<DType::Q4_K>(k);
  use_tiles<DType::Q5_K>(k);
  return k;
}

}  // namespace

const Kernels& amx_kernels() {
  static const Kernels kernels = with_tiles();
  return kernels;
}

}  // namespace shardwise::kernel
