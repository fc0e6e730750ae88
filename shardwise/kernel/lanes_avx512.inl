// The lanes of AVX-512 (F, BW, VL, DQ, VNNI): 16, so that a vector is a whole panel.
// Compiled inside the anonymous namespace of each isa_*.cpp that builds on them.
#pragma once

constexpr int kLanes = 16;
constexpr int kQuantizedTile = 16;  // tokens; 8 vectors of weights and 16 sums fill the registers
constexpr int kFloatTile = 8;
constexpr int kFloatSums = 16;
constexpr bool kDotCentres = false;
constexpr int32_t kFreePosition = 0x7fffffff;

using Floats = __m512;
using Ints = __m512i;
using Bytes = __m512i;  // 16 rows x 4 columns

INLINE Floats every(float x) { return _mm512_set1_ps(x); }
INLINE Floats load(const float* x) { return _mm512_loadu_ps(x); }
INLINE void store(float* y, Floats v) { _mm512_storeu_ps(y, v); }
INLINE Floats plus(Floats a, Floats b) { return _mm512_add_ps(a, b); }
INLINE Floats minus(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
INLINE Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
INLINE Floats over(Floats a, Floats b) { return _mm512_div_ps(a, b); }
INLINE Floats add_product(Floats sum, Floats a, Floats b) { return _mm512_fmadd_ps(a, b, sum); }
INLINE Floats subtract_product(Floats from, Floats a, Floats b) { return _mm512_fnmadd_ps(a, b, from); }
INLINE Floats at_least(Floats x, float limit) { return _mm512_max_ps(every(limit), x); }  // NaN stays: second operand
INLINE Floats at_most(Floats x, float limit) { return _mm512_min_ps(every(limit), x); }
INLINE Floats zero_below(Floats v, Floats x, float limit) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, every(limit), _CMP_NLT_UQ), v);
}
INLINE float total(Floats v) { return _mm512_reduce_add_ps(v); }
INLINE float greatest(Floats v) { return _mm512_reduce_max_ps(v); }

INLINE Ints to_ints(Floats x) { return _mm512_cvtps_epi32(x); }
INLINE Floats to_floats(Ints x) { return _mm512_cvtepi32_ps(x); }
INLINE Floats power_of_two(Ints n) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
}
INLINE Ints magnitude_bits(Floats x) { return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)); }
INLINE Ints larger(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
INLINE int32_t largest(Ints v) { return _mm512_reduce_max_epi32(v); }
INLINE void store_bytes(int8_t* y, Ints v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_cvtepi32_epi8(v)); }
INLINE Floats where_seen(Floats v, const int32_t* positions, int32_t after, int32_t upto) {
  const __m512i at = _mm512_loadu_si512(positions);
  const __mmask16 late = _mm512_cmpgt_epi32_mask(at, _mm512_set1_epi32(after));
  const __mmask16 seen = _mm512_mask_cmple_epi32_mask(late, at, _mm512_set1_epi32(upto));
  return _mm512_mask_blend_ps(seen, every(-__builtin_inff()), v);
}

INLINE __m128i load_16(const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }
INLINE Floats load_half(const void* at) { return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(at))); }
INLINE void store_half(uint16_t* y, Floats v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
INLINE Floats load_bfloat(const void* at) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(at)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
INLINE Floats load_signed(const uint8_t* at) { return to_floats(_mm512_cvtepi8_epi32(load_16(at))); }
INLINE Floats load_low_nibbles(const uint8_t* at) {
  return to_floats(_mm512_and_si512(_mm512_cvtepu8_epi32(load_16(at)), _mm512_set1_epi32(15)));
}
INLINE Floats load_high_nibbles(const uint8_t* at) {
  return to_floats(_mm512_srli_epi32(_mm512_cvtepu8_epi32(load_16(at)), 4));
}

INLINE Bytes load_bytes(const uint8_t* at) { return _mm512_loadu_si512(at); }
INLINE Bytes mask_bytes(Bytes x, int mask) { return _mm512_and_si512(x, _mm512_set1_epi8(static_cast<char>(mask))); }
INLINE Bytes or_masked(Bytes a, Bytes x, int mask) {
  return _mm512_ternarylogic_epi32(a, x, _mm512_set1_epi8(static_cast<char>(mask)), 0xf8);  // a | (x & mask)
}
template <int kBy>  // within 16-bit words: callers mask off what crosses bytes. Negative: left
INLINE Bytes shift_right(Bytes x) {
  if constexpr (kBy > 0) return _mm512_srli_epi16(x, kBy);
  if constexpr (kBy < 0) return _mm512_slli_epi16(x, -kBy);
  return x;
}

// Sums over 4 columns a group, of unsigned weights times signed activations; exact.
template <int kBits, int kCount>
INLINE Ints dot(const Bytes* w, const int8_t* x) {
  Ints sums = _mm512_setzero_si512();
  for (int g = 0; g < kCount; ++g) {
    int32_t four;
    __builtin_memcpy(&four, x + 4 * g, sizeof four);
    sums = _mm512_dpbusd_epi32(sums, w[g], _mm512_set1_epi32(four));
  }
  return sums;
}
