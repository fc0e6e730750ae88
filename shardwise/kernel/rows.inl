// Rows and elements: norms, gates, rotation, and activations as 8-bit integers. Compiled once per instruction set,
// inside its anonymous namespace, after the lanes of isa_*.cpp.
#pragma once

#include "shardwise/kernel/blocks.inl"
#include "shardwise/kernel/floats.inl"

// e^r for |r| <= 0.35: Taylor to r^7.
INLINE Floats exponential_near_zero(Floats r) {
  Floats e = every(1.0f / 5040);
  e = add_product(every(1.0f / 720), e, r);
  e = add_product(every(1.0f / 120), e, r);
  e = add_product(every(1.0f / 24), e, r);
  e = add_product(every(1.0f / 6), e, r);
  e = add_product(every(0.5f), e, r);
  e = add_product(every(1), e, r);
  return add_product(every(1), e, r);
}

// 2^(x - reference), reference a whole number not below x; 0 below -126. Another reference gives the same times a power
// of two, bit for bit. NaN stays NaN.
INLINE Floats power_of_two_below(Floats x, float reference) {
  constexpr float kLn2 = 0.693147181f, kLeast = -126;
  const Floats clamped = at_least(x, reference + kLeast);
  const Ints n = to_ints(clamped);
  const Floats e = exponential_near_zero(mul(minus(clamped, to_floats(n)), every(kLn2)));
  return zero_below(mul(e, power_of_two(to_ints(minus(to_floats(n), every(reference))))), x, reference + kLeast);
}

// e^x to 2e-7 of its value; 0 below -87.3, where f32 would be subnormal, and e^88 above 88. NaN stays NaN.
// x = n ln 2 + r, |r| <= 0.35; ln 2 in two parts, the first so short that n times it is exact.
INLINE Floats exponential(Floats x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f, kLeast = -87.3f;
  const Floats clamped = at_most(at_least(x, kLeast), 88);
  const Ints n = to_ints(mul(clamped, every(kLog2E)));
  const Floats whole = to_floats(n);
  const Floats r = subtract_product(subtract_product(clamped, whole, every(kLn2High)), whole, every(kLn2Low));
  return zero_below(mul(exponential_near_zero(r), power_of_two(n)), x, kLeast);
}

float sum_squares(const float* x, int64_t width) {
  constexpr int kChains = 4;
  Floats sums[kChains] = {every(0), every(0), every(0), every(0)};
  for (int64_t i = 0; i < width; i += kChains * kLanes) {
    unroll<kChains>([&](auto c) {
      const int64_t at = i + c.kValue * kLanes;
      if (at >= width) return;
      const Floats v = load_some(x + at, width - at);
      sums[c.kValue] = add_product(sums[c.kValue], v, v);
    });
  }
  return total(plus(plus(sums[0], sums[1]), plus(sums[2], sums[3])));
}

void scale_row(const float* x, float factor, const float* weight, int64_t width, float* y) {
  for (int64_t i = 0; i < width; i += kLanes) {
    const int64_t n = width - i;
    store_some(y + i, n, mul(mul(load_some(x + i, n), every(factor)), load_some(weight + i, n)));
  }
}

void silu(const float* g, const float* up, int64_t n, float* y) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const Floats v = load_some(g + i, n - i);
    const Floats act = over(v, plus(every(1), exponential(mul(v, every(-1)))));
    store_some(y + i, n - i, mul(act, load_some(up + i, n - i)));
  }
}

// 0.5 v (1 + tanh(u)) = v / (1 + e^(-2u)), u = sqrt(2 / pi) (v + 0.044715 v^3). Hendrycks and Gimpel 2016.
void gelu_tanh(const float* g, const float* up, int64_t n, float* y) {
  constexpr float kTwiceRoot = 1.59576912f, kCubic = 0.044715f;
  for (int64_t i = 0; i < n; i += kLanes) {
    const Floats v = load_some(g + i, n - i);
    const Floats inner = mul(v, add_product(every(1), mul(v, v), every(kCubic)));
    const Floats act = over(v, plus(every(1), exponential(mul(inner, every(-kTwiceRoot)))));
    store_some(y + i, n - i, mul(act, load_some(up + i, n - i)));
  }
}

void add(const float* a, const float* b, int64_t n, float* y) {
  for (int64_t i = 0; i < n; i += kLanes)
    store_some(y + i, n - i, plus(load_some(a + i, n - i), load_some(b + i, n - i)));
}

// Angles and their remainders modulo pi / 2 in double, so that position 10^6 is as good as position 1; Taylor series
// on |r| <= pi / 4, whose first left-out terms are below 2e-9.
void sin_cos(int32_t position, const float* frequencies, int64_t n, float magnitude, float* sines, float* cosines) {
  constexpr double kTwoOverPi = 0.63661977236758134308, kHalfPi = 1.57079632679489661923, kRound = 0x1.8p52;
  for (int64_t i = 0; i < n; ++i) {
    const double angle = static_cast<double>(position) * static_cast<double>(frequencies[i]);
    const double quarters = (angle * kTwoOverPi + kRound) - kRound;
    const double r = angle - quarters * kHalfPi, s = r * r;
    const double sine = r * (1 + s * (-1.0 / 6 + s * (1.0 / 120 + s * (-1.0 / 5040 + s * (1.0 / 362880)))));
    const double cosine =
        1 + s * (-1.0 / 2 + s * (1.0 / 24 + s * (-1.0 / 720 + s * (1.0 / 40320 + s * (-1.0 / 3628800)))));
    const int quadrant = static_cast<int>(quarters);
    const double a = quadrant & 1 ? cosine : sine, b = quadrant & 1 ? sine : cosine;
    sines[i] = static_cast<float>(quadrant & 2 ? -a : a) * magnitude;
    cosines[i] = static_cast<float>((quadrant + 1) & 2 ? -b : b) * magnitude;
  }
}

void rotate(const float* x, int64_t n, int64_t apart, const float* sines, const float* cosines, float* y) {
  if (apart == 0) {
    for (int64_t i = 0; i < n; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = a * cosines[i] - b * sines[i];
      y[2 * i + 1] = a * sines[i] + b * cosines[i];
    }
    return;
  }
  for (int64_t i = 0; i < n; i += kLanes) {
    const Floats a = load_some(x + i, n - i), b = load_some(x + i + apart, n - i);
    const Floats s = load_some(sines + i, n - i), c = load_some(cosines + i, n - i);
    store_some(y + i, n - i, subtract_product(mul(a, c), b, s));
    store_some(y + i + apart, n - i, add_product(mul(a, s), b, c));
  }
}

void to_half(const float* x, int64_t n, uint16_t* out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    uint16_t part[kLanes];
    store_half(part, load_some(x + i, n - i));
    for (int64_t k = 0; k < kLanes && i + k < n; ++k) out[i + k] = part[k];
  }
}

// q = x * 127 / max |x|, to the nearest even. What is not finite makes the scale NaN, so that it shows in every result.
void quantize(const float* x, QuantizedBlock& out) {
  constexpr uint32_t kInfinity = 0x7f800000;
  Ints most = magnitude_bits(load(x));
  for (int i = kLanes; i < kBlockCols; i += kLanes) most = larger(most, magnitude_bits(load(x + i)));
  const uint32_t bits = static_cast<uint32_t>(largest(most));
  float max;
  __builtin_memcpy(&max, &bits, sizeof max);
  const float inverse = bits >= kInfinity || max < 1e-30f ? 0 : 127 / max;
  Floats low = every(0), high = every(0);
  for (int i = 0; i < kBlockCols; i += kLanes) {
    const Ints q = inverse == 0 ? to_ints(every(0)) : to_ints(mul(load(x + i), every(inverse)));
    store_bytes(out.q + i, q);
    if (i < kBlockCols / 2)
      low = plus(low, to_floats(q));
    else
      high = plus(high, to_floats(q));
  }
  out.low = total(low);
  out.high = total(high);
  out.sum = out.low + out.high;
  out.scale = bits >= kInfinity ? __builtin_nanf("") : inverse == 0 ? 0 : max / 127;
}
