// Attention of a tile of queries over the pages of their sequence, with a running reference. Lanes are rows of a page
// for the scores, elements of a head for the values. Within a page sums are f32 in the order of its rows, over pages
// f64. Every query goes through the same operations whatever its company. Compiled once per instruction set, inside its
// anonymous namespace.
#pragma once

#include "shardwise/kernel/rows.inl"

constexpr int kRows = 16;  // of a page
constexpr int kRowParts = kRows / kLanes;
constexpr int kQueriesAtOnce = 8;

// A query and what it has gathered so far: the sum over rows of 2^(score - reference), and of that times V.
struct Query {
  const float* q;
  double* values;
  int token;
  float reference;
  double weights;
};

// A page as one KV head sees it, and its rows that hold something: what lies in the others may be anything.
struct HeadPage {
  const uint8_t* k;
  const uint8_t* v;
  const int32_t* positions;
  int stored[kRows];
  int stored_count;
};

template <bool kHalf>
INLINE Floats load_cache(const uint8_t* base, int64_t element, int64_t n) {
  if constexpr (!kHalf) return load_some(reinterpret_cast<const float*>(base) + element, n);
  const uint16_t* x = reinterpret_cast<const uint16_t*>(base) + element;
  if (n >= kLanes) return load_half(x);
  uint16_t part[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) part[i] = x[i];
  return load_half(part);
}

// The positions a token sees: after < position <= upto.
INLINE int32_t seen_after(const AttendTile& a, int token) {
  const int64_t after = a.window > 0 ? a.positions[token] - a.window : -1;
  return static_cast<int32_t>(after < -1 ? -1 : after);
}

INLINE bool sees_any(const int32_t* positions, int32_t after, int32_t upto) {
  int count = 0;
  for (int r = 0; r < kRows; ++r) count += (positions[r] > after) & (positions[r] <= upto);
  return count > 0;
}

// The reference of a query after it saw a page whose largest score is `max`: what was gathered is scaled, exactly.
INLINE void raise_reference(const AttendTile& a, Query& query, float max) {
  const float reference = ceilf(max);
  if (!(reference > query.reference)) return;
  if (query.weights != 0) {
    const double factor = ldexp(1.0, static_cast<int>(fmaxf(query.reference - reference, -2000)));
    query.weights *= factor;
    for (int64_t d = 0; d < a.head_size; ++d) query.values[d] *= factor;
  }
  query.reference = reference;
}

// Scores of kCount queries against the 16 rows: weights[i] = 2^(score - reference).
template <bool kHalf, int kCount>
NOINLINE void weigh_rows(const AttendTile& a, const HeadPage& page, Query* const* queries, float (*weights)[kRows]) {
  Floats s[kCount][kRowParts];
  for (auto& of_query : s)
    for (auto& part : of_query) part = every(0);
  for (int64_t d = 0; d < a.head_size; ++d) {
    Floats k[kRowParts];
    for (int h = 0; h < kRowParts; ++h) k[h] = load_cache<kHalf>(page.k, d * kRows + h * kLanes, kLanes);
    unroll<kCount>([&](auto i) {
      const Floats q = every(queries[i.kValue]->q[d]);
      for (int h = 0; h < kRowParts; ++h) s[i.kValue][h] = add_product(s[i.kValue][h], k[h], q);
    });
  }
  constexpr float kLog2E = 1.44269504f;
  for (int i = 0; i < kCount; ++i) {
    Query& query = *queries[i];
    const int32_t after = seen_after(a, query.token), upto = a.positions[query.token];
    float max = -__builtin_inff(), sum = 0;
    for (int h = 0; h < kRowParts; ++h) {
      s[i][h] = where_seen(mul(s[i][h], every(a.scale * kLog2E)), page.positions + h * kLanes, after, upto);
      const float of_part = greatest(s[i][h]);
      max = of_part > max ? of_part : max;
    }
    raise_reference(a, query, max);  // max is finite: some row is seen
    for (int h = 0; h < kRowParts; ++h) {
      const Floats e = power_of_two_below(s[i][h], query.reference);
      sum += total(e);
      store(weights[i] + h * kLanes, e);
    }
    query.weights += sum;
  }
}

// Adds the sum over rows of weight * V.
template <bool kHalf, int kCount>
NOINLINE void add_values(const AttendTile& a, const HeadPage& page, Query* const* queries,
                         const float (*weights)[kRows]) {
  for (int64_t d = 0; d < a.head_size; d += kLanes) {
    const int64_t n = a.head_size - d;
    Floats sums[kCount];
    unroll<kCount>([&](auto i) { sums[i.kValue] = every(0); });
    for (int r = 0; r < page.stored_count; ++r) {
      const int row = page.stored[r];
      const Floats v = load_cache<kHalf>(page.v, row * a.head_size + d, n);
      unroll<kCount>([&](auto i) { sums[i.kValue] = add_product(sums[i.kValue], v, every(weights[i.kValue][row])); });
    }
    unroll<kCount>([&](auto i) { add_wide(queries[i.kValue]->values + d, sums[i.kValue], n); });
  }
}

template <bool kHalf, int kCount>
INLINE void attend_page(const AttendTile& a, const HeadPage& page, Query* const* queries) {
  float weights[kCount][kRows];
  weigh_rows<kHalf, kCount>(a, page, queries, weights);
  add_values<kHalf, kCount>(a, page, queries, weights);
}

template <bool kHalf>
void attend_page(const AttendTile& a, const HeadPage& page, Query* const* queries, int count) {
  for (; count >= 8; count -= 8, queries += 8) attend_page<kHalf, 8>(a, page, queries);
  if (count >= 4) attend_page<kHalf, 4>(a, page, queries), count -= 4, queries += 4;
  if (count >= 2) attend_page<kHalf, 2>(a, page, queries), count -= 2, queries += 2;
  if (count == 1) attend_page<kHalf, 1>(a, page, queries);
}

// Turns what a query gathered into its result, `at` elements into the output.
INLINE void finish(const AttendTile& a, const Query& query, int64_t at) {
  if (a.wide != nullptr) {
    double* out = a.wide + at;
    for (int64_t d = 0; d < a.head_size; ++d) out[d] = query.values[d];
    out[a.head_size] = query.weights;
    out[a.head_size + 1] = query.reference;
    return;
  }
  const bool saw_none = query.weights == 0;
  for (int64_t d = 0; d < a.head_size; ++d)
    a.out[at + d] = saw_none ? 0 : static_cast<float>(query.values[d] / query.weights);
}

template <bool kHalf>
void attend_pages(const AttendTile& a) {
  alignas(64) static thread_local double gathered[kMaxQueries * kMaxHeadSize];
  Query queries[kMaxQueries];
  for (int i = 0; i < a.tokens * a.heads; ++i) {
    const int token = i / a.heads, head = i % a.heads;
    double* values = gathered + i * a.head_size;
    queries[i] = {a.q + token * a.q_stride + head * a.head_size, values, token, -__builtin_inff(), 0};
    for (int64_t d = 0; d < a.head_size; ++d) values[d] = 0;
  }
  const PageView* pages = static_cast<const PageView*>(a.pages);
  for (int64_t p = 0; p < a.page_count; ++p) {
    Query* active[kMaxQueries];
    int count = 0;
    for (int token = 0; token < a.tokens; ++token) {
      if (!sees_any(pages[p].positions, seen_after(a, token), a.positions[token])) continue;
      for (int head = 0; head < a.heads; ++head) active[count++] = &queries[token * a.heads + head];
    }
    if (count == 0) continue;
    const uint8_t* k = reinterpret_cast<const uint8_t*>(pages[p].data) + a.head_offset;
    HeadPage page = {k, k + a.head_size * kRows * (kHalf ? 2 : 4), pages[p].positions, {}, 0};
    for (int r = 0; r < kRows; ++r)
      if (page.positions[r] != kFreePosition) page.stored[page.stored_count++] = r;
    attend_page<kHalf>(a, page, active, count);
  }
  for (int i = 0; i < a.tokens * a.heads; ++i)
    finish(a, queries[i], i / a.heads * a.out_stride + i % a.heads * a.out_head);
}

void attend(const AttendTile& a) { a.half ? attend_pages<true>(a) : attend_pages<false>(a); }
