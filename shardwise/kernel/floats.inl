// Parts of a vector, and sums kept in f64. Compiled once per instruction set, inside its anonymous namespace, after the
// lanes of isa_*.cpp.
#pragma once

INLINE Floats load_some(const float* x, int64_t n) {
  if (n >= kLanes) return load(x);
  float part[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) part[i] = x[i];
  return load(part);
}

INLINE void store_some(float* y, int64_t n, Floats v) {
  if (n >= kLanes) return store(y, v);
  float part[kLanes];
  store(part, v);
  for (int64_t i = 0; i < n; ++i) y[i] = part[i];
}

INLINE void add_wide(double* to, Floats v, int64_t n) {
  float part[kLanes];
  store(part, v);
  if (n >= kLanes) {
    for (int i = 0; i < kLanes; ++i) to[i] += part[i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] += part[i];
  }
}
