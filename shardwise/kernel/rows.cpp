// Norms, gates, sums and rotation: deals rows, or runs of elements, to workers.
#include <algorithm>
#include <cmath>

#include "shardwise/base/check.h"
#include "shardwise/kernel/kernel.h"
#include "shardwise/kernel/part.h"
#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

constexpr int64_t kRun = 64;  // elements dealt at a time: whole cache lines, whole vectors

Part elements_of(int64_t n, Share share) {
  const Part runs = part_of((n + kRun - 1) / kRun, share);
  return {std::min(runs.first * kRun, n), std::min(runs.end * kRun, n)};
}

float norm_factor(float sum, int64_t width, float eps) { return 1 / std::sqrt(sum / static_cast<float>(width) + eps); }

}  // namespace

void rms_norm(const float* x, int64_t rows, int64_t width, const float* weight, float eps, float* y, Share share) {
  const Kernels& k = kernels();
  const Part part = part_of(rows, share);
  for (int64_t row = part.first; row < part.end; ++row) {
    const float* in = x + row * width;
    k.scale_row(in, norm_factor(k.sum_squares(in, width), width, eps), weight, width, y + row * width);
  }
}

void sum_squares(const float* x, int64_t rows, int64_t width, float* sums, Share share) {
  const Part part = part_of(rows, share);
  for (int64_t row = part.first; row < part.end; ++row) sums[row] = kernels().sum_squares(x + row * width, width);
}

void scale_rows(const float* x, int64_t rows, int64_t width, const float* sums, int64_t whole_width,
                const float* weight, float eps, float* y, Share share) {
  const Part part = part_of(rows, share);
  for (int64_t row = part.first; row < part.end; ++row)
    kernels().scale_row(x + row * width, norm_factor(sums[row], whole_width, eps), weight, width, y + row * width);
}

void rope(const float* x, int64_t tokens, int64_t heads, int64_t head_size, const int32_t* positions,
          const RopeTable& table, float* y, Share share) {
  constexpr int64_t kPairs = 128;  // whose sines are held at a time
  const int64_t pairs = static_cast<int64_t>(table.frequencies.size()), rotated = 2 * pairs;
  CHECK(rotated <= head_size, "{} elements to rotate in heads of {}", rotated, head_size);
  const Kernels& k = kernels();
  const Part part = part_of(tokens * heads, share);
  float sines[kPairs], cosines[kPairs];
  for (int64_t from = part.first; from < part.end;) {  // the heads of one token share their sines
    const int64_t token = from / heads, to = std::min(part.end, (token + 1) * heads);
    for (int64_t first = 0; first < pairs; first += kPairs) {
      const int64_t n = std::min(kPairs, pairs - first), at = table.interleaved ? 2 * first : first;
      k.sin_cos(positions[token], table.frequencies.data() + first, n, table.magnitude, sines, cosines);
      for (int64_t head = from; head < to; ++head) {
        const int64_t offset = head * head_size + at;
        k.rotate(x + offset, n, table.interleaved ? 0 : pairs, sines, cosines, y + offset);
      }
    }
    for (int64_t head = from; head < to && x != y; ++head)
      std::copy(x + head * head_size + rotated, x + (head + 1) * head_size, y + head * head_size + rotated);
    from = to;
  }
}

void gate(Gate kind, const float* g, const float* up, int64_t n, float* y, Share share) {
  const Part part = elements_of(n, share);
  const auto run = kind == Gate::Silu ? kernels().silu : kernels().gelu_tanh;
  run(g + part.first, up + part.first, part.size(), y + part.first);
}

void add(const float* a, const float* b, int64_t n, float* y, Share share) {
  const Part part = elements_of(n, share);
  kernels().add(a + part.first, b + part.first, part.size(), y + part.first);
}

void add_bias(const float* x, const float* bias, int64_t rows, int64_t width, float* y, Share share) {
  const Part part = part_of(rows, share);
  for (int64_t row = part.first; row < part.end; ++row) kernels().add(x + row * width, bias, width, y + row * width);
}

}  // namespace shardwise::kernel
