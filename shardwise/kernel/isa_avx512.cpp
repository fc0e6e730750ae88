// The kernels for AVX-512. They run only where the processor has these instructions; isa.cpp asks.
#include <immintrin.h>
#include <math.h>

#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

#include "shardwise/kernel/lanes_avx512.inl"
#include "shardwise/kernel/table.inl"

}  // namespace

const Kernels kAvx512Kernels = make_kernels();

}  // namespace shardwise::kernel
