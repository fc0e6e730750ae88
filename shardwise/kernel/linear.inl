// A linear's panels against a tile of tokens. For every token the same operations in the same order, whatever the size
// of the tile. Compiled once per instruction set, inside its anonymous namespace.
#pragma once

#include "shardwise/kernel/blocks.inl"
#include "shardwise/kernel/floats.inl"

constexpr int64_t kResidentBytes = 512 << 10;  // of panels that stay in a core's cache while the tiles of tokens pass

// Asks for memory that is read a panel later: few tokens leave the loads too little time.
INLINE void fetch_ahead(const uint8_t* at, int bytes) {
  for (int i = 0; i < bytes; i += kVectorBytes) __builtin_prefetch(at + i, 0, 2);
}

// Where the results of one token go, from the first row of a panel on.
struct RowsOut {
  float* y;
  double* wide;
};

// Puts kLanes results of a panel where they belong; only `rows` of the panel are real. `chunks`: what is in f64
// already, null where nothing is.
INLINE void store_rows(Floats v, const double* chunks, RowsOut out, int lane, int64_t rows) {
  if (chunks == nullptr && out.wide == nullptr) return store_some(out.y + lane, rows - lane, v);
  double all[kLanes] = {};
  for (int i = 0; chunks != nullptr && i < kLanes; ++i) all[i] = chunks[i];
  add_wide(all, v, kLanes);
  for (int i = 0; i < kLanes && lane + i < rows; ++i) {
    if (out.wide != nullptr)
      out.wide[lane + i] = all[i];
    else
      out.y[lane + i] = static_cast<float>(all[i]);
  }
}

// A packed block's sums of products with one token's integers, one for each of its sub-blocks: whole numbers, exact.
template <class Form>
INLINE void block_dots(const Bytes (&w)[kGroups], const QuantizedBlock& x, Floats (&dots)[2]) {
  constexpr float kOffset = Form::kBits == 8 && kDotCentres ? 0 : Form::kOffset;
  if constexpr (Form::kHalves == 1) {
    dots[0] = to_floats(dot<Form::kBits, kGroups>(w, x.q));
    if constexpr (kOffset != 0) dots[0] = subtract_product(dots[0], every(kOffset), every(x.sum));
  } else {
    dots[0] = to_floats(dot<Form::kBits, kGroups / 2>(w, x.q));
    dots[1] = to_floats(dot<Form::kBits, kGroups / 2>(w + kGroups / 2, x.q + kBlockCols / 2));
    if constexpr (kOffset != 0) {
      dots[0] = subtract_product(dots[0], every(kOffset), every(x.low));
      dots[1] = subtract_product(dots[1], every(kOffset), every(x.high));
    }
  }
}

// The sum with a block's product added: the scales of the weights, then that of the token.
template <class Form>
INLINE Floats add_block(Floats sum, const Floats (&dots)[2], const Floats (&scale)[2], const Floats (&min)[2],
                        const QuantizedBlock& x) {
  Floats t = mul(dots[0], scale[0]);
  if constexpr (Form::kHalves == 2) t = add_product(t, dots[1], scale[1]);
  if constexpr (Form::kHasMin && Form::kHalves == 1) t = subtract_product(t, min[0], every(x.sum));
  if constexpr (Form::kHasMin && Form::kHalves == 2) {
    t = subtract_product(t, min[0], every(x.low));
    t = subtract_product(t, min[1], every(x.high));
  }
  return add_product(sum, t, every(x.scale));
}

// The scales of packed block i of a block of the file.
template <class Form>
INLINE void take_scales(const Scales<Form>& scales, int i, Floats (&scale)[2], Floats (&min)[2]) {
  for (int h = 0; h < Form::kHalves; ++h) {
    scale[h] = scales.scale(i * Form::kHalves + h);
    if constexpr (Form::kHasMin) min[h] = scales.min(i * Form::kHalves + h);
  }
}

// Where a tile of tokens is: x of its first token and block, and the blocks of other tokens between two of its own.
struct Tile {
  const QuantizedBlock* x;
  int64_t slots;
  int64_t tokens;
  float* y;
  double* wide;
  int64_t y_stride;
  int64_t chunk;  // blocks summed in f32; 0: all

  INLINE RowsOut out(int m) const {
    return wide == nullptr ? RowsOut{y + m * y_stride, nullptr} : RowsOut{nullptr, wide + m * y_stride};
  }
  INLINE void to_panel(int64_t panel) {
    if (wide == nullptr)
      y += panel * 16;
    else
      wide += panel * 16;
  }
};

// Sums of whole chunks, of a tile's tokens.
template <int kTokens, int kWidth>
struct Chunks {
  double sums[kTokens][kWidth];
  int64_t left, each;

  explicit Chunks(int64_t chunk) : left(chunk), each(chunk) {
    if (chunk > 0) __builtin_memset(sums, 0, sizeof sums);
  }
  INLINE bool full() {
    if (each == 0 || --left > 0) return false;
    left = each;
    return true;
  }
  const double* of(int m, int at) const { return each > 0 ? sums[m] + at : nullptr; }
};

// kTokens are computed, tile.tokens of them stored.
template <class Form, int kTokens>
NOINLINE void quantized_tile(const uint8_t* panel, int64_t blocks, int64_t rows, const Tile& tile) {
  const uint8_t* scales_at = panel + blocks * Form::kQuantBytes;
  constexpr int kAhead = Form::kQuantBytes + Form::kScaleBytes / Form::kBlocks;  // a block's share of the next panel
  for (int lane = 0; lane < 16; lane += kLanes) {
    Floats sums[kTokens];
    for (int m = 0; m < kTokens; ++m) sums[m] = every(0);
    Chunks<kTokens, kLanes> chunks(tile.chunk);
    const QuantizedBlock* x = tile.x;
    for (int64_t file_block = 0; file_block < blocks / Form::kBlocks; ++file_block) {
      const Scales<Form> scales(scales_at + file_block * Form::kScaleBytes, lane);
      for (int i = 0; i < Form::kBlocks; ++i, x += tile.slots) {
        const int64_t b = file_block * Form::kBlocks + i;
        if constexpr (kTokens <= kFewTokens) fetch_ahead(panel + (blocks + b) * kAhead, kAhead);
        Bytes w[kGroups];
        take_quants<Form::kBits>(panel + b * Form::kQuantBytes + lane * 4, w);
        Floats scale[2], min[2];
        take_scales(scales, i, scale, min);
        unroll<kTokens>([&](auto m) {
          Floats dots[2];
          block_dots<Form>(w, x[m.kValue], dots);
          sums[m.kValue] = add_block<Form>(sums[m.kValue], dots, scale, min, x[m.kValue]);
        });
        if (!chunks.full()) continue;
        unroll<kTokens>([&](auto m) {
          add_wide(chunks.sums[m.kValue], sums[m.kValue], kLanes);
          sums[m.kValue] = every(0);
        });
      }
    }
    for (int m = 0; m < kTokens; ++m)
      if (m < tile.tokens) store_rows(sums[m], chunks.of(m, 0), tile.out(m), lane, rows);
  }
}

// The tile of tokens from `from` on.
INLINE Tile tile_at(const LinearPart& p, int64_t from, int64_t tokens) {
  const int64_t blocks = p.cols / kBlockCols;
  const QuantizedBlock* x = p.quantized + from / p.slots * p.slots * blocks + from % p.slots;
  return {x,
          p.slots,
          tokens,
          p.y != nullptr ? p.y + from * p.y_stride : nullptr,
          p.wide != nullptr ? p.wide + from * p.y_stride : nullptr,
          p.y_stride,
          p.chunk / kBlockCols};
}

// The smallest tile that holds so many tokens.
template <class Form>
void run_quantized_tile(const LinearPart& p, int64_t panel, Tile tile) {
  const auto run = [&](auto run_tile) {
    tile.to_panel(panel);
    run_tile(reinterpret_cast<const uint8_t*>(p.panels) + panel * p.panel_bytes, p.cols / kBlockCols,
             p.rows - panel * 16, tile);
  };
  if (tile.tokens == 1) return run(quantized_tile<Form, 1>);
  if (tile.tokens == 2) return run(quantized_tile<Form, 2>);
  if (kQuantizedTile == 4 || tile.tokens <= 4) return run(quantized_tile<Form, 4>);
  if constexpr (kQuantizedTile > 4) {
    if (tile.tokens <= 8) return run(quantized_tile<Form, 8>);
    if (tile.tokens <= 12) return run(quantized_tile<Form, 12>);
    return run(quantized_tile<Form, 16>);
  }
}

// Calls f(first panel, end, first token, tokens) for tiles of at most `most` tokens, a divisor of a group: panels that
// stay in cache outermost, then tiles of tokens, whose activations stay closer still.
template <class Fn>
INLINE void each_tile(const LinearPart& p, int64_t most, const Fn& f) {
  int64_t resident = p.tokens <= most ? p.panel_count : kResidentBytes / (p.panel_bytes + 1) / 4 * 4;
  if (resident < 4) resident = 4;
  for (int64_t first = 0; first < p.panel_count; first += resident) {
    const int64_t end = first + resident < p.panel_count ? first + resident : p.panel_count;
    for (int64_t from = 0; from < p.tokens; from += most)
      f(first, end, from, from + most < p.tokens ? most : p.tokens - from);
  }
}

template <class Form>
void linear_quantized_part(const LinearPart& p) {
  each_tile(p, kQuantizedTile, [&](int64_t first, int64_t end, int64_t from, int64_t tokens) {
    for (int64_t panel = first; panel < end; ++panel) run_quantized_tile<Form>(p, panel, tile_at(p, from, tokens));
  });
}

// ---- float weights --------------------------------------------------------------------------------------------------

template <DType kType>
INLINE Floats load_weights(const uint8_t* at) {
  if constexpr (kType == DType::F32) return load(reinterpret_cast<const float*>(at));
  if constexpr (kType == DType::F16) return load_half(at);
  return load_bfloat(at);
}

// kPanels panels against kTokens tokens; x rows beyond `tokens` repeat the last.
template <DType kType, int kTokens, int kPanels>
NOINLINE void float_tile(const LinearPart& p, int64_t panel, int64_t first_token, int64_t tokens) {
  constexpr int kBytes = kType == DType::F32 ? 4 : 2, kParts = 16 / kLanes, kVectors = kPanels * kParts;
  const uint8_t* at = reinterpret_cast<const uint8_t*>(p.panels) + panel * p.panel_bytes;
  const float* x[kTokens];
  for (int m = 0; m < kTokens; ++m) x[m] = p.x + (first_token + (m < tokens ? m : tokens - 1)) * p.x_stride;
  Floats sums[kTokens][kVectors];
  for (auto& of_token : sums)
    for (auto& sum : of_token) sum = every(0);
  Chunks<kTokens, kVectors * kLanes> chunks(p.chunk);
  for (int64_t c = 0; c < p.cols; ++c) {
    Floats w[kVectors];
    unroll<kVectors>([&](auto v) {
      w[v.kValue] =
          load_weights<kType>(at + v.kValue / kParts * p.panel_bytes + (c * 16 + v.kValue % kParts * kLanes) * kBytes);
    });
    unroll<kTokens>([&](auto m) {
      const Floats xc = every(x[m.kValue][c]);
      unroll<kVectors>(
          [&](auto v) { sums[m.kValue][v.kValue] = add_product(sums[m.kValue][v.kValue], w[v.kValue], xc); });
    });
    if (!chunks.full()) continue;
    for (int m = 0; m < kTokens; ++m) {
      for (int v = 0; v < kVectors; ++v) {
        add_wide(chunks.sums[m] + v * kLanes, sums[m][v], kLanes);
        sums[m][v] = every(0);
      }
    }
  }
  for (int m = 0; m < kTokens && m < tokens; ++m) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t of = panel + v / kParts, at = (first_token + m) * p.y_stride + of * 16;
      const RowsOut out = p.wide == nullptr ? RowsOut{p.y + at, nullptr} : RowsOut{nullptr, p.wide + at};
      store_rows(sums[m][v], chunks.of(m, v * kLanes), out, v % kParts * kLanes, p.rows - of * 16);
    }
  }
}

template <DType kType, int kTokens>
void float_panels(const LinearPart& p, int64_t first, int64_t end, int64_t first_token, int64_t tokens) {
  constexpr int kWanted = kFloatSums / (kTokens * (16 / kLanes));
  constexpr int kPanels = kWanted > 4 ? 4 : kWanted > 1 ? kWanted : 1;
  int64_t panel = first;
  for (; panel + kPanels <= end; panel += kPanels) float_tile<kType, kTokens, kPanels>(p, panel, first_token, tokens);
  for (; panel < end; ++panel) float_tile<kType, kTokens, 1>(p, panel, first_token, tokens);
}

template <DType kType>
void linear_float_part(const LinearPart& p) {
  each_tile(p, kFloatTile, [&](int64_t first, int64_t end, int64_t from, int64_t tokens) {
    if (tokens == 1) return float_panels<kType, 1>(p, first, end, from, tokens);
    if (tokens == 2) return float_panels<kType, 2>(p, first, end, from, tokens);
    if (kFloatTile == 4 || tokens <= 4) return float_panels<kType, 4>(p, first, end, from, tokens);
    float_panels<kType, kFloatTile>(p, first, end, from, tokens);
  });
}
