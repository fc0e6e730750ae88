// The kernels: one file an op, local shapes only, never aware of ranks. All tensors are dense, row-major f32 unless
// said otherwise. Every function does the share of the work that `Share` names; the caller puts a barrier between ops.
// The result for one token never depends on the other tokens of the call, nor on how the work is shared: bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "shardwise/tensor/dtype.h"

namespace shardwise::kernel {

// One worker's part of an op.
struct Share {
  int worker = 0;
  int workers = 1;
};

// Instruction sets that the kernels are compiled for; the best that the CPU has is used.
// Avx512: F, BW, VL, DQ and VNNI. Amx: that and 8-bit tiles; the same bits as Avx512.
enum class Isa : uint8_t { Plain, Avx2, Avx512, Amx };
std::string_view name(Isa);
bool supported(Isa);
Isa isa();          // in use
void use_isa(Isa);  // for tests and measurements; REQUIRES supported(isa), and no kernel running

// ---- linear: weights in panels of 16 rows ---------------------------------------------------------------------------

inline constexpr int64_t kPanelRows = 16;

// A matrix [rows, cols] in the file's own quantisation, its bits regrouped by panels of 16 rows; the last panel is
// filled up with zero rows. Does not own its memory.
struct PackedMatrix {
  DType dtype = DType::F32;
  int64_t rows = 0, cols = 0;  // cols: a whole number of the dtype's blocks
  const std::byte* data = nullptr;

  int64_t panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
};
int64_t panel_bytes(DType, int64_t cols);

// Packs one panel. rows[i] points at the blocks of row i as the file stores them; nullptr: a row of zeros.
void pack_panel(DType, int64_t cols, const std::byte* const rows[kPanelRows], std::byte* panel);

// One row as floats, out of the panels: cols floats. What embed reads.
void unpack_row(const PackedMatrix&, int64_t row, float* out);

// Activations as 8-bit integers, a scale for every 32 of a row, for the quantised weight types. The layout depends on
// `tokens`: linear_quantized takes all of them or none. An activation that is not finite makes its token's results NaN.
// REQUIRES cols % 32 == 0. `out` has quantized_bytes(tokens, cols) and is 64-byte aligned.
int64_t quantized_bytes(int64_t tokens, int64_t cols);
void quantize(const float* x, int64_t x_stride, int64_t tokens, int64_t cols, std::byte* out, Share);

// Where results go: to floats, or unrounded to doubles, when they are parts of a sum. One of the two is set.
struct Out {
  float* narrow = nullptr;
  double* wide = nullptr;
};

// y[t, r] = sum_c x[t, c] W[r, c]; strides in elements. Columns are summed in f32 by chunks of `chunk` (0: all of them;
// of the quantised types a multiple of 32), and the sums of chunks in f64: parts of a sum that are cut between chunks
// add up to the same bits. The first takes the float types, the second the quantised ones (x as quantize left it).
void linear(const PackedMatrix& w, const float* x, int64_t x_stride, int64_t tokens, Out y, int64_t y_stride,
            int64_t chunk, Share);
void linear_quantized(const PackedMatrix& w, const std::byte* x, int64_t tokens, Out y, int64_t y_stride, int64_t chunk,
                      Share);

// ---- elementwise and rows -------------------------------------------------------------------------------------------

// y = x / sqrt(mean(x^2) + eps) * weight, over each of `rows` rows of `width`. Zhang and Sennrich 2019.
void rms_norm(const float* x, int64_t rows, int64_t width, const float* weight, float eps, float* y, Share);

// sums[row] = sum of squares of the row: a norm whose width is cut is put together from these.
void sum_squares(const float* x, int64_t rows, int64_t width, float* sums, Share);

// y = x / sqrt(sums[row] / whole_width + eps) * weight
void scale_rows(const float* x, int64_t rows, int64_t width, const float* sums, int64_t whole_width,
                const float* weight, float eps, float* y, Share);

// Rotates pairs of each head by position * frequency. Pairs are (i, i + rotated/2), or (2i, 2i+1) where interleaved;
// elements from `rotated` on are copied. magnitude multiplies what is rotated (YaRN). Su et al. 2021.
struct RopeTable {
  std::span<const float> frequencies;  // rotated / 2 of them
  float magnitude = 1;
  bool interleaved = false;
};
void rope(const float* x, int64_t tokens, int64_t heads, int64_t head_size, const int32_t* positions, const RopeTable&,
          float* y, Share);

enum class Gate : uint8_t { Silu, GeluTanh };
void gate(Gate, const float* g, const float* up, int64_t n, float* y, Share);  // y = act(g) * up
void add(const float* a, const float* b, int64_t n, float* y, Share);
void add_bias(const float* x, const float* bias, int64_t rows, int64_t width, float* y, Share);

// ---- attention over a paged cache -----------------------------------------------------------------------------------

inline constexpr int kPageRows = 16;  // rows of a page; all of one sequence
inline constexpr int32_t kFreeRow = std::numeric_limits<int32_t>::max();

enum class CacheType : uint8_t { F32, F16 };

// A page: for each KV head, K transposed [head_size, 16], then V [16, head_size].
int64_t page_head_bytes(CacheType, int64_t head_size);

// Stores token t at row `row` of the page at `page` (nullptr: not stored here). k, v: [tokens, heads, head_size].
struct RowPlace {
  std::byte* page = nullptr;
  int row = 0;
};
void append(CacheType, const float* k, const float* v, std::span<const RowPlace> places, int64_t heads,
            int64_t head_size, Share);

struct Page {
  const std::byte* data;     // its KV heads, one after the other
  const int32_t* positions;  // of its 16 rows; kFreeRow where nothing is stored
};

struct Attend {
  const float* q = nullptr;  // [tokens, heads, head_size]
  int64_t tokens = 0, heads = 0, head_size = 0;
  int64_t first_head = 0;                        // query head 0 of `q` is head `first_head` of the model
  int64_t first_kv_head = 0;                     // likewise of the pages
  int64_t group = 1;                             // query heads that share a KV head
  const int32_t* positions = nullptr;            // of each token
  const int32_t* sequences = nullptr;            // of each token: index into `pages`
  std::span<const std::span<const Page>> pages;  // by sequence
  int64_t window = 0;                            // rows that a token sees, itself the last; 0: all
  float scale = 1;                               // of q . k
  CacheType type = CacheType::F16;
};

// Softmax attention in one pass with a running reference: a token sees the rows of its sequence up to its own position.
// Weights are powers of two of (score * log2 e - reference), the reference a whole number not below the largest:
// changing it is exact. A page is summed in f32, pages in f64: so the pages may lie in any order, on any number of
// ranks, and merge to the same bits. out.narrow: [tokens, heads, head_size]. out.wide: [tokens, heads, head_size + 2],
// not yet divided: the weighted sum of V, the sum of weights, and the reference. A token that sees no row gives zeros,
// and a reference of -infinity.
void attend(const Attend&, Out out, Share);

// Puts such sums together: parts[i] is [rows, head_size + 2]; out as attend leaves it. The merge of nothing is nothing.
void merge(std::span<const double* const> parts, int64_t rows, int64_t head_size, Out out, Share);

}  // namespace shardwise::kernel
