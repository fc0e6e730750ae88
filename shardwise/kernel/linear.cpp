// Linear ops: checks what they are given and deals panels to workers in contiguous ranges.
#include "shardwise/base/check.h"
#include "shardwise/kernel/kernel.h"
#include "shardwise/kernel/part.h"
#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

int64_t slots_of(int64_t tokens) { return tokens <= kFewTokens ? kFewTokens : kTileTokens; }

// Blocks in a column of slots: [group][cols / 32].
int64_t columns_of(int64_t tokens, int64_t cols) {
  const int64_t slots = slots_of(tokens);
  return (tokens + slots - 1) / slots * (cols / kBlockCols);
}

// Adds this worker's panels of w to `part` and runs them.
void run(const PackedMatrix& w, LinearPart part, Share share) {
  const Part panels = part_of(w.panels(), share);
  if (panels.size() == 0 || part.tokens == 0) return;
  part.panel_bytes = panel_bytes(w.dtype, w.cols);
  part.panels = w.data + panels.first * part.panel_bytes;
  part.panel_count = panels.size();
  part.rows = (panels.end == w.panels() ? w.rows : panels.end * kPanelRows) - panels.first * kPanelRows;
  part.cols = w.cols;
  if (part.y != nullptr) part.y += panels.first * kPanelRows;
  if (part.wide != nullptr) part.wide += panels.first * kPanelRows;
  kernels().linear[static_cast<int>(w.dtype)](part);
}

}  // namespace

int64_t quantized_bytes(int64_t tokens, int64_t cols) {
  return columns_of(tokens, cols) * slots_of(tokens) * static_cast<int64_t>(sizeof(QuantizedBlock));
}

void quantize(const float* x, int64_t x_stride, int64_t tokens, int64_t cols, std::byte* out, Share share) {
  CHECK(cols % kBlockCols == 0, "{} columns, of which {} share a scale", cols, kBlockCols);
  CHECK(reinterpret_cast<uintptr_t>(out) % kVectorBytes == 0, "activations not aligned");
  const auto run = kernels().quantize;
  const int64_t slots = slots_of(tokens), blocks = cols / kBlockCols;
  const Part part = part_of(columns_of(tokens, cols), share);
  QuantizedBlock* to = reinterpret_cast<QuantizedBlock*>(out) + part.first * slots;
  for (int64_t column = part.first; column < part.end; ++column) {
    for (int64_t slot = 0; slot < slots; ++slot, ++to) {
      const int64_t token = column / blocks * slots + slot;
      if (token < tokens)
        run(x + token * x_stride + column % blocks * kBlockCols, *to);
      else
        *to = {};
    }
  }
}

void linear(const PackedMatrix& w, const float* x, int64_t x_stride, int64_t tokens, Out y, int64_t y_stride,
            int64_t chunk, Share share) {
  CHECK(!is_quantised(w.dtype), "{} weights need quantised activations", info(w.dtype).name);
  LinearPart part;
  part.x = x;
  part.x_stride = x_stride;
  part.tokens = tokens;
  part.y = y.narrow;
  part.wide = y.wide;
  part.y_stride = y_stride;
  part.chunk = chunk;
  run(w, part, share);
}

void linear_quantized(const PackedMatrix& w, const std::byte* x, int64_t tokens, Out y, int64_t y_stride, int64_t chunk,
                      Share share) {
  CHECK(chunk % kBlockCols == 0, "chunks of {} columns, of which {} share a scale", chunk, kBlockCols);
  CHECK(is_quantised(w.dtype), "{} weights take activations as floats", info(w.dtype).name);
  LinearPart part;
  part.quantized = reinterpret_cast<const QuantizedBlock*>(x);
  part.slots = slots_of(tokens);
  part.tokens = tokens;
  part.y = y.narrow;
  part.wide = y.wide;
  part.y_stride = y_stride;
  part.chunk = chunk;
  run(w, part, share);
}

}  // namespace shardwise::kernel
