// Weights out of their bit planes: kLanes rows x 32 columns of a packed block as unsigned bytes, with their scales.
// Compiled once per instruction set, inside its anonymous namespace, after the lanes of isa_*.cpp.
#pragma once

template <int kAt>
struct Number {
  static constexpr int kValue = kAt;
};

// f(Number<0>) ... f(Number<kCount - 1>)
template <int kCount, int kAt = 0, class Fn>
INLINE void unroll(const Fn& f) {
  if constexpr (kAt < kCount) {
    f(Number<kAt>{});
    unroll<kCount, kAt + 1>(f);
  }
}

constexpr int kGroups = 8;  // of 4 columns in a packed block

INLINE void take_nibbles(const uint8_t* planes, Bytes (&w)[kGroups]) {
  unroll<4>([&](auto v) {
    const Bytes both = load_bytes(planes + v.kValue * kVectorBytes);
    w[v.kValue] = mask_bytes(both, 15);
    w[v.kValue + 4] = mask_bytes(shift_right<4>(both), 15);
  });
}

INLINE void take_pairs(const uint8_t* planes, Bytes (&w)[kGroups]) {
  unroll<kGroups>([&](auto g) {
    const Bytes four = load_bytes(planes + g.kValue / 4 * kVectorBytes);
    w[g.kValue] = mask_bytes(shift_right<g.kValue % 4 * 2>(four), 3);
  });
}

// Sets bit kTo of each quant from a 1-bit plane, bits kTo and kTo + 1 from a 2-bit plane.
template <int kTo>
INLINE void add_bits(const uint8_t* plane, Bytes (&w)[kGroups]) {
  const Bytes eight = load_bytes(plane);
  unroll<kGroups>([&](auto g) { w[g.kValue] = or_masked(w[g.kValue], shift_right<g.kValue - kTo>(eight), 1 << kTo); });
}

template <int kTo>
INLINE void add_pairs(const uint8_t* planes, Bytes (&w)[kGroups]) {
  unroll<kGroups>([&](auto g) {
    const Bytes four = load_bytes(planes + g.kValue / 4 * kVectorBytes);
    w[g.kValue] = or_masked(w[g.kValue], shift_right<g.kValue % 4 * 2 - kTo>(four), 3 << kTo);
  });
}

// planes: of a packed block, at this half's first row.
template <int kBits>
INLINE void take_quants(const uint8_t* planes, Bytes (&w)[kGroups]) {
  if constexpr (kBits == 8) {
    unroll<kGroups>([&](auto g) { w[g.kValue] = load_bytes(planes + g.kValue * kVectorBytes); });
  } else if constexpr (kBits <= 3) {
    take_pairs(planes, w);
    if constexpr (kBits == 3) add_bits<2>(planes + 2 * kVectorBytes, w);
  } else {
    take_nibbles(planes, w);
    if constexpr (kBits == 5) add_bits<4>(planes + 4 * kVectorBytes, w);
    if constexpr (kBits == 6) add_pairs<4>(planes + 4 * kVectorBytes, w);
  }
}

// The scales of kLanes rows: d and m of a block of the file, and those of one sub-block.
template <class Form>
struct Scales {
  const uint8_t* sub;
  Floats d, m;

  // at: the scales of a block of the file; lane: this half's first row.
  INLINE Scales(const uint8_t* at, int lane) : sub(at + Form::kHeadBytes + lane) {
    d = load_half(at + 2 * lane);
    if constexpr (Form::kHasMin) m = load_half(at + 32 + 2 * lane);
  }

  INLINE Floats scale(int s) const {
    if constexpr (!Form::kSubScales) return d;
    if constexpr (Form::kSharedByte) return mul(load_low_nibbles(sub + s * Form::kSubBytes), d);
    return mul(load_signed(sub + s * Form::kSubBytes), d);  // exact: 11 bits times 8
  }
  INLINE Floats min(int s) const {
    if constexpr (!Form::kHasMin || !Form::kSubScales) return m;
    if constexpr (Form::kSharedByte) return mul(load_high_nibbles(sub + s * Form::kSubBytes), m);
    return mul(load_signed(sub + s * Form::kSubBytes + 16), m);
  }
};
