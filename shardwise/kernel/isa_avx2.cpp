// The kernels for AVX2 with FMA and F16C: 8 lanes, so that a panel is two halves. Products of bytes are summed in 16
// bits for as long as they cannot overflow, then in 32.
#include <immintrin.h>
#include <math.h>

#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

constexpr int kLanes = 8;
constexpr int kQuantizedTile = 4;
constexpr int kFloatTile = 4;
constexpr int kFloatSums = 8;
constexpr bool kDotCentres = true;  // dot of 8-bit quants subtracts their offset of 128 itself
constexpr int32_t kFreePosition = 0x7fffffff;

using Floats = __m256;
using Ints = __m256i;
using Bytes = __m256i;  // 8 rows x 4 columns

INLINE Floats every(float x) { return _mm256_set1_ps(x); }
INLINE Floats load(const float* x) { return _mm256_loadu_ps(x); }
INLINE void store(float* y, Floats v) { _mm256_storeu_ps(y, v); }
INLINE Floats plus(Floats a, Floats b) { return _mm256_add_ps(a, b); }
INLINE Floats minus(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
INLINE Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
INLINE Floats over(Floats a, Floats b) { return _mm256_div_ps(a, b); }
INLINE Floats add_product(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
INLINE Floats subtract_product(Floats from, Floats a, Floats b) { return _mm256_fnmadd_ps(a, b, from); }
INLINE Floats at_least(Floats x, float limit) { return _mm256_max_ps(every(limit), x); }  // NaN stays: second operand
INLINE Floats at_most(Floats x, float limit) { return _mm256_min_ps(every(limit), x); }
INLINE Floats zero_below(Floats v, Floats x, float limit) {
  return _mm256_and_ps(_mm256_cmp_ps(x, every(limit), _CMP_NLT_UQ), v);
}
INLINE float total(Floats v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
INLINE float greatest(Floats v) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

INLINE Ints to_ints(Floats x) { return _mm256_cvtps_epi32(x); }
INLINE Floats to_floats(Ints x) { return _mm256_cvtepi32_ps(x); }
INLINE Floats power_of_two(Ints n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
INLINE Ints magnitude_bits(Floats x) { return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff)); }
INLINE Ints larger(Ints a, Ints b) { return _mm256_max_epi32(a, b); }
INLINE int32_t largest(Ints v) {
  __m128i s = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
INLINE void store_bytes(int8_t* y, Ints v) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packs_epi16(words, words));
}
INLINE Floats where_seen(Floats v, const int32_t* positions, int32_t after, int32_t upto) {
  const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(positions));
  const __m256i late = _mm256_cmpgt_epi32(at, _mm256_set1_epi32(after));
  const __m256i hidden = _mm256_cmpgt_epi32(at, _mm256_set1_epi32(upto));
  return _mm256_blendv_ps(every(-__builtin_inff()), v, _mm256_castsi256_ps(_mm256_andnot_si256(hidden, late)));
}

INLINE __m128i load_8(const void* at) { return _mm_loadl_epi64(static_cast<const __m128i*>(at)); }
INLINE Floats load_half(const void* at) { return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(at))); }
INLINE void store_half(uint16_t* y, Floats v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
INLINE Floats load_bfloat(const void* at) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
INLINE Floats load_signed(const uint8_t* at) { return to_floats(_mm256_cvtepi8_epi32(load_8(at))); }
INLINE Floats load_low_nibbles(const uint8_t* at) {
  return to_floats(_mm256_and_si256(_mm256_cvtepu8_epi32(load_8(at)), _mm256_set1_epi32(15)));
}
INLINE Floats load_high_nibbles(const uint8_t* at) {
  return to_floats(_mm256_srli_epi32(_mm256_cvtepu8_epi32(load_8(at)), 4));
}

INLINE Bytes load_bytes(const uint8_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
INLINE Bytes mask_bytes(Bytes x, int mask) { return _mm256_and_si256(x, _mm256_set1_epi8(static_cast<char>(mask))); }
INLINE Bytes or_masked(Bytes a, Bytes x, int mask) { return _mm256_or_si256(a, mask_bytes(x, mask)); }
template <int kBy>  // within 16-bit words: callers mask off what crosses bytes. Negative: left
INLINE Bytes shift_right(Bytes x) {
  if constexpr (kBy > 0) return _mm256_srli_epi16(x, kBy);
  if constexpr (kBy < 0) return _mm256_slli_epi16(x, -kBy);
  return x;
}

// Sums over 4 columns a group, of unsigned weights times signed activations; exact. A group adds at most
// 2 * (2^bits - 1) * 127 to a 16-bit sum; 8-bit weights are centred, and their sign is moved to the activations.
template <int kBits, int kCount>
INLINE Ints dot(const Bytes* w, const int8_t* x) {
  constexpr int kInWord = kBits == 8 ? 1 : 32767 / (2 * ((1 << kBits) - 1) * 127);
  const __m256i ones = _mm256_set1_epi16(1);
  Ints sums = _mm256_setzero_si256();
  for (int first = 0; first < kCount; first += kInWord) {
    __m256i words = _mm256_setzero_si256();
    for (int g = first; g < first + kInWord && g < kCount; ++g) {
      int32_t four;
      __builtin_memcpy(&four, x + 4 * g, sizeof four);
      const __m256i xs = _mm256_set1_epi32(four);
      if constexpr (kBits == 8) {
        const __m256i centred = _mm256_xor_si256(w[g], _mm256_set1_epi8(-128));
        words = _mm256_maddubs_epi16(_mm256_abs_epi8(centred), _mm256_sign_epi8(xs, centred));
      } else {
        words = _mm256_add_epi16(words, _mm256_maddubs_epi16(w[g], xs));
      }
    }
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(words, ones));
  }
  return sums;
}

#include "shardwise/kernel/table.inl"

}  // namespace

const Kernels kAvx2Kernels = make_kernels();

}  // namespace shardwise::kernel
