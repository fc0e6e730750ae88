// Attention over a paged cache: storing rows, dealing tiles of queries to workers, and merging partial results.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "shardwise/base/check.h"
#include "shardwise/kernel/kernel.h"
#include "shardwise/kernel/part.h"
#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

static_assert(sizeof(Page) == sizeof(PageView) && offsetof(Page, positions) == offsetof(PageView, positions));

constexpr double kNothing = -std::numeric_limits<double>::infinity();  // the reference of no rows

int64_t element_bytes(CacheType type) { return type == CacheType::F16 ? 2 : 4; }

// Stores one head's row: K down a column of [head_size, 16], V along a row of [16, head_size].
template <class Element>
void place(const Element* k, const Element* v, int row, int64_t head_size, std::byte* page_head) {
  Element* to = reinterpret_cast<Element*>(page_head);
  for (int64_t d = 0; d < head_size; ++d) to[d * kPageRows + row] = k[d];
  std::copy(v, v + head_size, to + (kPageRows + row) * head_size);
}

void place_half(const float* k, const float* v, int row, int64_t head_size, std::byte* page_head) {
  constexpr int64_t kChunk = 256;
  uint16_t half[kChunk];
  uint16_t* to = reinterpret_cast<uint16_t*>(page_head);
  for (int64_t first = 0; first < head_size; first += kChunk) {
    const int64_t n = std::min(kChunk, head_size - first);
    kernels().to_half(k + first, n, half);
    for (int64_t d = 0; d < n; ++d) to[(first + d) * kPageRows + row] = half[d];
  }
  kernels().to_half(v, head_size, to + (kPageRows + row) * head_size);
}

// The local query heads [first, end) that read local KV head `kv`, counted among those the call reads.
Part heads_of(const Attend& a, int64_t kv) {
  const int64_t base = (a.first_head / a.group + kv) * a.group - a.first_head;
  return {std::max<int64_t>(base, 0), std::min(base + a.group, a.heads)};
}

// Tiles: neighbouring tokens of one sequence. Calls f(first token, tokens).
template <class F>
void each_tile(const Attend& a, F f) {
  const int64_t most = std::max<int64_t>(1, kMaxQueries / std::min<int64_t>(a.group, kMaxQueries));
  for (int64_t from = 0; from < a.tokens;) {
    int64_t to = from + 1;
    while (to < a.tokens && to - from < most && a.sequences[to] == a.sequences[from]) ++to;
    f(from, to - from);
    from = to;
  }
}

void run_tile(const Attend& a, int64_t kv, Part heads, int64_t from, int64_t tokens, Out out) {
  const int64_t row = a.head_size + (out.wide != nullptr ? 2 : 0), at = (from * a.heads + heads.first) * row;
  const std::span<const Page> pages = a.pages[static_cast<size_t>(a.sequences[from])];
  const int64_t kv_head = a.first_head / a.group + kv - a.first_kv_head;
  AttendTile tile;
  tile.q = a.q + (from * a.heads + heads.first) * a.head_size;
  tile.q_stride = a.heads * a.head_size;
  tile.tokens = static_cast<int>(tokens);
  tile.heads = static_cast<int>(heads.size());
  tile.head_size = a.head_size;
  tile.positions = a.positions + from;
  tile.pages = pages.data();
  tile.page_count = static_cast<int64_t>(pages.size());
  tile.head_offset = kv_head * page_head_bytes(a.type, a.head_size);
  tile.window = a.window;
  tile.scale = a.scale;
  tile.half = a.type == CacheType::F16;
  if (out.wide != nullptr)
    tile.wide = out.wide + at;
  else
    tile.out = out.narrow + at;
  tile.out_stride = a.heads * row;
  tile.out_head = row;
  kernels().attend(tile);
}

}  // namespace

int64_t page_head_bytes(CacheType type, int64_t head_size) { return 2 * kPageRows * head_size * element_bytes(type); }

void append(CacheType type, const float* k, const float* v, std::span<const RowPlace> places, int64_t heads,
            int64_t head_size, Share share) {
  const Part part = part_of(static_cast<int64_t>(places.size()) * heads, share);
  for (int64_t at = part.first; at < part.end; ++at) {
    const RowPlace& place_at = places[static_cast<size_t>(at / heads)];
    if (!place_at.page) continue;
    CHECK(0 <= place_at.row && place_at.row < kPageRows, "row {} of a page", place_at.row);
    std::byte* page_head = place_at.page + at % heads * page_head_bytes(type, head_size);
    if (type == CacheType::F16)
      place_half(k + at * head_size, v + at * head_size, place_at.row, head_size, page_head);
    else
      place(k + at * head_size, v + at * head_size, place_at.row, head_size, page_head);
  }
}

// Tasks are (tile, KV head, piece of its query heads), dealt like cards, there and back: later tokens see more rows.
void attend(const Attend& a, Out out, Share share) {
  if (a.heads == 0 || a.tokens == 0) return;
  CHECK(a.head_size <= kMaxHeadSize, "heads of {} elements, at most {} are expected", a.head_size, kMaxHeadSize);
  CHECK(a.group > 0 && a.first_head / a.group >= a.first_kv_head, "query head {} in groups of {}, KV heads from {}",
        a.first_head, a.group, a.first_kv_head);
  const int64_t kv_heads = (a.first_head + a.heads - 1) / a.group - a.first_head / a.group + 1;
  int64_t tiles = 0;
  each_tile(a, [&](int64_t, int64_t) { ++tiles; });
  const int64_t wanted = (share.workers + tiles * kv_heads - 1) / (tiles * kv_heads);
  const int64_t needed = (a.group + kMaxQueries - 1) / kMaxQueries;
  const int64_t pieces = std::min(std::max(wanted, needed), a.group);
  int64_t task = 0;
  each_tile(a, [&](int64_t from, int64_t tokens) {
    for (int64_t i = 0; i < kv_heads * pieces; ++i, ++task) {
      const int64_t round = task / share.workers, seat = task % share.workers;
      if ((round % 2 == 0 ? seat : share.workers - 1 - seat) != share.worker) continue;
      const Part whole = heads_of(a, i / pieces);
      const Part piece = part_of(whole.size(), {static_cast<int>(i % pieces), static_cast<int>(pieces)});
      const Part heads = {whole.first + piece.first, whole.first + piece.end};
      if (heads.size() > 0) run_tile(a, i / pieces, heads, from, tokens, out);
    }
  });
}

// Each part counts 2^(its reference - the largest): a power of two, so that no bit is lost. Dao et al. 2022.
void merge(std::span<const double* const> parts, int64_t rows, int64_t head_size, Out out, Share share) {
  const int64_t width = head_size + 2;
  const Part part = part_of(rows, share);
  std::vector<double> sums(static_cast<size_t>(width));
  for (int64_t row = part.first; row < part.end; ++row) {
    double reference = kNothing;
    for (const double* p : parts) reference = std::max(reference, p[row * width + head_size + 1]);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (const double* p : parts) {
      const double* x = p + row * width;
      if (x[head_size + 1] == kNothing) continue;  // whatever its values are
      const double factor = std::exp2(x[head_size + 1] - reference);
      for (int64_t d = 0; d <= head_size; ++d) sums[static_cast<size_t>(d)] += factor * x[d];
    }
    const double weights = sums[static_cast<size_t>(head_size)];
    sums[static_cast<size_t>(head_size) + 1] = reference;
    if (out.wide != nullptr) {
      std::copy(sums.begin(), sums.end(), out.wide + row * width);
      continue;
    }
    for (int64_t d = 0; d < head_size; ++d)
      out.narrow[row * head_size + d] = weights == 0 ? 0 : static_cast<float>(sums[static_cast<size_t>(d)] / weights);
  }
}

}  // namespace shardwise::kernel
