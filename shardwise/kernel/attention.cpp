// Attention over a paged cache: storing rows, dealing tiles of queries to workers, and merging partial results.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "shardwise/base/check.h"
#include "shardwise/kernel/kernel.h"
#include "shardwise/kernel/part.h"
#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

static_assert(sizeof(Page) == sizeof(PageView) && offsetof(Page, positions) == offsetof(PageView, positions));

constexpr float kNothing = -std::numeric_limits<float>::infinity();  // the lse of no rows

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

void run_tile(const Attend& a, int64_t kv, Part heads, int64_t from, int64_t tokens, float* out, bool with_lse) {
  const int64_t row = a.head_size + (with_lse ? 1 : 0);
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
  tile.out = out + (from * a.heads + heads.first) * row;
  tile.out_stride = a.heads * row;
  tile.out_head = row;
  tile.with_lse = with_lse;
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
void attend(const Attend& a, float* out, bool with_lse, Share share) {
  if (a.heads == 0 || a.tokens == 0) return;
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
      if (heads.size() > 0) run_tile(a, i / pieces, heads, from, tokens, out, with_lse);
    }
  });
}

// Each part weighs e^lse: Dao et al. 2022, in the form of Rabe and Staats 2021.
void merge(std::span<const float* const> parts, int64_t rows, int64_t head_size, float* out, bool with_lse,
           Share share) {
  const int64_t width = head_size + 1, out_width = head_size + (with_lse ? 1 : 0);
  const Part part = part_of(rows, share);
  for (int64_t row = part.first; row < part.end; ++row) {
    float* y = out + row * out_width;
    float max = kNothing, sum = 0;
    for (const float* p : parts) max = std::max(max, p[row * width + head_size]);
    for (const float* p : parts) {
      const float lse = p[row * width + head_size];
      if (lse != kNothing) sum += std::exp(lse - max);
    }
    std::fill(y, y + head_size, 0.0f);
    for (const float* p : parts) {
      const float* x = p + row * width;
      if (x[head_size] == kNothing) continue;  // whatever its values are
      kernels().mix(1, y, std::exp(x[head_size] - max) / sum, x, head_size, y);
    }
    if (with_lse) y[head_size] = sum == 0 ? kNothing : max + std::log(sum);
  }
}

}  // namespace shardwise::kernel
