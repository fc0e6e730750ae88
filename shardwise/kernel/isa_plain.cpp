// The kernels in ordinary C++, for any processor: what the others are tested against. Lanes are loops over arrays.
#include <math.h>

#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

constexpr int kLanes = 16;
constexpr int kQuantizedTile = 4;
constexpr int kFloatTile = 4;
constexpr int kFloatSums = 4;
constexpr bool kDotCentres = false;
constexpr int32_t kFreePosition = 0x7fffffff;

struct Floats {
  float at[kLanes];
};
struct Ints {
  int32_t at[kLanes];
};
struct Bytes {  // 16 rows x 4 columns
  uint8_t at[kVectorBytes];
};

// f(i) for each lane
template <class To, class Fn>
INLINE To each_lane(const Fn& f) {
  To to;
  for (int i = 0; i < kLanes; ++i) to.at[i] = f(i);
  return to;
}

template <class To, class From>
INLINE To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

INLINE Floats every(float x) {
  return each_lane<Floats>([&](int) { return x; });
}
INLINE Floats load(const float* x) {
  Floats v;
  __builtin_memcpy(&v, x, sizeof v);
  return v;
}
INLINE void store(float* y, Floats v) { __builtin_memcpy(y, &v, sizeof v); }
INLINE Floats plus(Floats a, Floats b) {
  return each_lane<Floats>([&](int i) { return a.at[i] + b.at[i]; });
}
INLINE Floats minus(Floats a, Floats b) {
  return each_lane<Floats>([&](int i) { return a.at[i] - b.at[i]; });
}
INLINE Floats mul(Floats a, Floats b) {
  return each_lane<Floats>([&](int i) { return a.at[i] * b.at[i]; });
}
INLINE Floats over(Floats a, Floats b) {
  return each_lane<Floats>([&](int i) { return a.at[i] / b.at[i]; });
}
INLINE Floats add_product(Floats sum, Floats a, Floats b) {
  return each_lane<Floats>([&](int i) { return sum.at[i] + a.at[i] * b.at[i]; });
}
INLINE Floats subtract_product(Floats from, Floats a, Floats b) {
  return each_lane<Floats>([&](int i) { return from.at[i] - a.at[i] * b.at[i]; });
}
INLINE Floats at_least(Floats x, float limit) {
  return each_lane<Floats>([&](int i) { return x.at[i] < limit ? limit : x.at[i]; });
}
INLINE Floats at_most(Floats x, float limit) {
  return each_lane<Floats>([&](int i) { return x.at[i] > limit ? limit : x.at[i]; });
}
INLINE Floats zero_below(Floats v, Floats x, float limit) {
  return each_lane<Floats>([&](int i) { return x.at[i] < limit ? 0 : v.at[i]; });
}
INLINE float total(Floats v) {
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) v.at[i] += v.at[i + width];
  return v.at[0];
}
INLINE float greatest(Floats v) {
  float most = v.at[0];
  for (float x : v.at) most = x > most ? x : most;
  return most;
}

constexpr float kRound = 0x1.8p23f;  // added to a small number, leaves its nearest integer in the low bits

INLINE Ints to_ints(Floats x) {  // |x| < 2^22
  return each_lane<Ints>(
      [&](int i) { return static_cast<int32_t>(same_bits<uint32_t>(x.at[i] + kRound) - same_bits<uint32_t>(kRound)); });
}
INLINE Floats to_floats(Ints x) {
  return each_lane<Floats>([&](int i) { return static_cast<float>(x.at[i]); });
}
INLINE Floats power_of_two(Ints n) {
  return each_lane<Floats>([&](int i) { return same_bits<float>((static_cast<uint32_t>(n.at[i]) + 127) << 23); });
}
INLINE Ints magnitude_bits(Floats x) {
  return each_lane<Ints>([&](int i) { return same_bits<int32_t>(x.at[i]) & 0x7fffffff; });
}
INLINE Ints larger(Ints a, Ints b) {
  return each_lane<Ints>([&](int i) { return a.at[i] > b.at[i] ? a.at[i] : b.at[i]; });
}
INLINE int32_t largest(Ints v) {
  int32_t most = v.at[0];
  for (int32_t x : v.at) most = x > most ? x : most;
  return most;
}
INLINE void store_bytes(int8_t* y, Ints v) {
  for (int i = 0; i < kLanes; ++i) y[i] = static_cast<int8_t>(v.at[i]);
}
INLINE Floats where_seen(Floats v, const int32_t* positions, int32_t after, int32_t upto) {
  return each_lane<Floats>([&](int i) {
    const bool seen = (positions[i] > after) & (positions[i] <= upto);
    return seen ? v.at[i] : -__builtin_inff();
  });
}

INLINE Floats load_half(const void* at) {
  uint16_t half[kLanes];
  __builtin_memcpy(half, at, sizeof half);
  return each_lane<Floats>([&](int i) {
    // The exponent and fraction 13 bits up are the value * 2^-112, subnormals included; infinity and NaN get theirs
    // back.
    const uint32_t magnitude = (half[i] & 0x7fffu) << 13, sign = (half[i] & 0x8000u) << 16;
    const float scaled = same_bits<float>(magnitude) * 0x1p112f;
    const uint32_t bits = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : same_bits<uint32_t>(scaled);
    return same_bits<float>(bits | sign);
  });
}
INLINE void store_half(uint16_t* y, Floats v) {
  for (int i = 0; i < kLanes; ++i) y[i] = f32_to_f16(v.at[i]);
}
INLINE Floats load_bfloat(const void* at) {
  uint16_t high[kLanes];
  __builtin_memcpy(high, at, sizeof high);
  return each_lane<Floats>([&](int i) { return same_bits<float>(static_cast<uint32_t>(high[i]) << 16); });
}
INLINE Floats load_signed(const uint8_t* at) {
  return each_lane<Floats>([&](int i) { return static_cast<float>(static_cast<int8_t>(at[i])); });
}
INLINE Floats load_low_nibbles(const uint8_t* at) {
  return each_lane<Floats>([&](int i) { return static_cast<float>(at[i] & 15); });
}
INLINE Floats load_high_nibbles(const uint8_t* at) {
  return each_lane<Floats>([&](int i) { return static_cast<float>(at[i] >> 4); });
}

INLINE Bytes load_bytes(const uint8_t* at) {
  Bytes v;
  __builtin_memcpy(&v, at, sizeof v);
  return v;
}
INLINE Bytes mask_bytes(Bytes x, int mask) {
  for (uint8_t& byte : x.at) byte &= static_cast<uint8_t>(mask);
  return x;
}
INLINE Bytes or_masked(Bytes a, Bytes x, int mask) {
  for (int i = 0; i < kVectorBytes; ++i) a.at[i] |= x.at[i] & static_cast<uint8_t>(mask);
  return a;
}
template <int kBy>  // callers mask off what the wider instruction sets shift in from the next byte. Negative: left
INLINE Bytes shift_right(Bytes x) {
  for (uint8_t& byte : x.at)
    byte = static_cast<uint8_t>(kBy > 0 ? byte >> (kBy > 0 ? kBy : 0) : byte << (kBy < 0 ? -kBy : 0));
  return x;
}

// Sums over 4 columns a group, of unsigned weights times signed activations; exact.
template <int kBits, int kCount>
INLINE Ints dot(const Bytes* w, const int8_t* x) {
  Ints sums = {};
  for (int g = 0; g < kCount; ++g)
    for (int i = 0; i < kLanes; ++i)
      for (int c = 0; c < 4; ++c) sums.at[i] += w[g].at[4 * i + c] * x[4 * g + c];
  return sums;
}

#include "shardwise/kernel/table.inl"

}  // namespace

const Kernels kPlainKernels = make_kernels();

}  // namespace shardwise::kernel
