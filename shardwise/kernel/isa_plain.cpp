// The kernels for any processor: vectors of 16 bytes in the compilers' own notation, no instruction of a particular
// one. What the others are tested against.
#include <math.h>

#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

constexpr int kLanes = 4;
constexpr int kQuantizedTile = 4;
constexpr int kFloatTile = 4;
constexpr int kFloatSums = 8;
constexpr bool kDotCentres = false;
constexpr int32_t kFreePosition = 0x7fffffff;

using Floats = float __attribute__((vector_size(16)));
using Ints = int32_t __attribute__((vector_size(16)));
using Words = int16_t __attribute__((vector_size(16)));
using Bytes = uint32_t __attribute__((vector_size(16)));  // 4 rows x 4 columns

template <class To>
INLINE To read(const void* at) {
  To to;
  __builtin_memcpy(&to, at, sizeof to);
  return to;
}

INLINE Floats every(float x) { return Floats{x, x, x, x}; }
INLINE Floats load(const float* x) { return read<Floats>(x); }
INLINE void store(float* y, Floats v) { __builtin_memcpy(y, &v, sizeof v); }
INLINE Floats plus(Floats a, Floats b) { return a + b; }
INLINE Floats minus(Floats a, Floats b) { return a - b; }
INLINE Floats mul(Floats a, Floats b) { return a * b; }
INLINE Floats over(Floats a, Floats b) { return a / b; }
INLINE Floats add_product(Floats sum, Floats a, Floats b) { return sum + a * b; }
INLINE Floats subtract_product(Floats from, Floats a, Floats b) { return from - a * b; }

// a where the mask is all ones, b where it is all zeros.
INLINE Floats choose(Ints mask, Floats a, Floats b) { return (Floats)((mask & (Ints)a) | (~mask & (Ints)b)); }
INLINE Floats at_least(Floats x, float limit) { return choose((Ints)(x < every(limit)), every(limit), x); }
INLINE Floats at_most(Floats x, float limit) { return choose((Ints)(x > every(limit)), every(limit), x); }
INLINE Floats zero_below(Floats v, Floats x, float limit) { return choose((Ints)(x < every(limit)), every(0), v); }
INLINE float total(Floats v) { return (v[0] + v[2]) + (v[1] + v[3]); }
INLINE float greatest(Floats v) {
  const float a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}

INLINE Ints to_ints(Floats x) {  // |x| < 2^22: 1.5 * 2^23 added leaves the nearest integer in the low bits
  const Floats round = every(0x1.8p23f);
  return (Ints)(x + round) - (Ints)round;
}
INLINE Floats to_floats(Ints x) { return __builtin_convertvector(x, Floats); }
INLINE Floats power_of_two(Ints n) { return (Floats)((n + 127) << 23); }
INLINE Ints magnitude_bits(Floats x) { return (Ints)x & 0x7fffffff; }
INLINE Ints larger(Ints a, Ints b) {
  const Ints mask = a > b;
  return (mask & a) | (~mask & b);
}
INLINE int32_t largest(Ints v) {
  const int32_t a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}
INLINE void store_bytes(int8_t* y, Ints v) {
  for (int i = 0; i < kLanes; ++i) y[i] = static_cast<int8_t>(v[i]);
}
INLINE Floats where_seen(Floats v, const int32_t* positions, int32_t after, int32_t upto) {
  const Ints at = read<Ints>(positions);
  return choose((at > after) & (at <= upto), v, every(-__builtin_inff()));
}

INLINE Ints load_words(const void* at) {
  const uint16_t* x = static_cast<const uint16_t*>(at);
  return Ints{x[0], x[1], x[2], x[3]};
}
// Exponent and fraction 13 bits up are the value * 2^-112, subnormals included; infinity and NaN get their exponent
// back.
INLINE Floats load_half(const void* at) {
  const Ints half = load_words(at), magnitude = (half & 0x7fff) << 13, sign = (half & 0x8000) << 16;
  const Ints scaled = (Ints)((Floats)magnitude * 0x1p112f);
  const Ints special = magnitude >= 0x0f800000;
  return (Floats)((special & (magnitude | 0x7f800000)) | (~special & scaled) | sign);
}
INLINE void store_half(uint16_t* y, Floats v) {
  for (int i = 0; i < kLanes; ++i) y[i] = f32_to_f16(v[i]);
}
INLINE Floats load_bfloat(const void* at) { return (Floats)(load_words(at) << 16); }
INLINE Floats load_signed(const uint8_t* at) {
  const int8_t* x = reinterpret_cast<const int8_t*>(at);
  return to_floats(Ints{x[0], x[1], x[2], x[3]});
}
INLINE Floats load_low_nibbles(const uint8_t* at) { return to_floats(Ints{at[0], at[1], at[2], at[3]} & 15); }
INLINE Floats load_high_nibbles(const uint8_t* at) { return to_floats(Ints{at[0], at[1], at[2], at[3]} >> 4); }

INLINE Bytes load_bytes(const uint8_t* at) { return read<Bytes>(at); }
INLINE Bytes mask_bytes(Bytes x, int mask) { return x & (0x01010101u * static_cast<uint32_t>(mask)); }
INLINE Bytes or_masked(Bytes a, Bytes x, int mask) { return a | mask_bytes(x, mask); }
template <int kBy>  // within 32-bit words: callers mask off what crosses bytes. Negative: left
INLINE Bytes shift_right(Bytes x) {
  if constexpr (kBy > 0) return x >> kBy;
  if constexpr (kBy < 0) return x << -kBy;
  return x;
}

// Two 16-bit halves of each lane, added.
INLINE Ints add_halves(Words x) { return ((Ints)((Bytes)x << 16) >> 16) + ((Ints)x >> 16); }

// Sums over 4 columns a group, of unsigned weights times signed activations; exact. A product has 16 bits at most; two
// of them are added before they are widened where the weights leave room.
template <int kBits, int kCount>
INLINE Ints dot(const Bytes* w, const int8_t* x) {
  Ints sums = {};
  for (int g = 0; g < kCount; ++g) {
    const int16_t a = x[4 * g], b = x[4 * g + 1], c = x[4 * g + 2], d = x[4 * g + 3];
    const Words even = (Words)(w[g] & 0x00ff00ffu) * Words{a, c, a, c, a, c, a, c};
    const Words odd = (Words)(w[g] >> 8 & 0x00ff00ffu) * Words{b, d, b, d, b, d, b, d};
    sums += kBits < 8 ? add_halves(even + odd) : add_halves(even) + add_halves(odd);
  }
  return sums;
}

#include "shardwise/kernel/table.inl"

}  // namespace

const Kernels kPlainKernels = make_kernels();

}  // namespace shardwise::kernel
