// The table of one instruction set. Compiled inside its anonymous namespace.
#pragma once

#include "shardwise/kernel/attend.inl"
#include "shardwise/kernel/linear.inl"

constexpr Kernels make_kernels() {
  Kernels k;
  const auto at = [&k](DType t) -> LinearFn& { return k.linear[static_cast<int>(t)]; };
  at(DType::F32) = linear_float_part<DType::F32>;
  at(DType::F16) = linear_float_part<DType::F16>;
  at(DType::BF16) = linear_float_part<DType::BF16>;
  at(DType::Q4_0) = linear_quantized_part<FormOf<DType::Q4_0>>;
  at(DType::Q4_1) = linear_quantized_part<FormOf<DType::Q4_1>>;
  at(DType::Q5_0) = linear_quantized_part<FormOf<DType::Q5_0>>;
  at(DType::Q5_1) = linear_quantized_part<FormOf<DType::Q5_1>>;
  at(DType::Q8_0) = linear_quantized_part<FormOf<DType::Q8_0>>;
  at(DType::Q2_K) = linear_quantized_part<FormOf<DType::Q2_K>>;
  at(DType::Q3_K) = linear_quantized_part<FormOf<DType::Q3_K>>;
  at(DType::Q4_K) = linear_quantized_part<FormOf<DType::Q4_K>>;
  at(DType::Q5_K) = linear_quantized_part<FormOf<DType::Q5_K>>;
  at(DType::Q6_K) = linear_quantized_part<FormOf<DType::Q6_K>>;
  k.quantize = quantize;
  k.attend = attend;
  k.sum_squares = sum_squares;
  k.scale_row = scale_row;
  k.silu = silu;
  k.gelu_tanh = gelu_tanh;
  k.add = add;
  k.sin_cos = sin_cos;
  k.rotate = rotate;
  k.to_half = to_half;
  return k;
}
