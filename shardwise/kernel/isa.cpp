// Chooses the instruction set, once: the best the processor has, or what SHARDWISE_ISA (plain, avx2, avx512, amx)
// names.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "shardwise/base/check.h"
#include "shardwise/kernel/kernel.h"
#include "shardwise/kernel/table.h"

namespace shardwise::kernel {
namespace {

constexpr Isa kAll[] = {Isa::Amx, Isa::Avx512, Isa::Avx2, Isa::Plain};  // best first

bool has_f16c() {  // not every compiler's __builtin_cpu_supports knows it
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 29);
}

// The tile registers are large: Linux gives them to a process that asks.
bool amx_granted() {
  constexpr unsigned kTileBit = 1u << 24, kInt8Bit = 1u << 25;  // of leaf 7, edx
  constexpr long kRequestPermission = 0x1023, kTileData = 18;   // ARCH_REQ_XCOMP_PERM
  static const bool granted = [] {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kTileBit) || !(d & kInt8Bit)) return false;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return granted;
}

Isa chosen_at_start() {
  const char* wanted = std::getenv("SHARDWISE_ISA");
  for (Isa isa : kAll)
    if (wanted && wanted == name(isa) && supported(isa)) return isa;
  for (Isa isa : kAll)
    if (supported(isa)) return isa;
  return Isa::Plain;
}

std::atomic<Isa>& in_use() {
  static std::atomic<Isa> isa = chosen_at_start();
  return isa;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::Plain: return "plain";
    case Isa::Avx2: return "avx2";
    case Isa::Avx512: return "avx512";
    case Isa::Amx: return "amx";
  }
  return "?";
}

bool supported(Isa isa) {
  switch (isa) {
    case Isa::Plain: return true;
    case Isa::Avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    case Isa::Avx512:
      return supported(Isa::Avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vnni");
    case Isa::Amx: return supported(Isa::Avx512) && amx_granted();
  }
  return false;
}

Isa isa() { return in_use().load(std::memory_order_relaxed); }

void use_isa(Isa isa) {
  CHECK(supported(isa), "this processor has no {}", name(isa));
  in_use().store(isa, std::memory_order_relaxed);
}

const Kernels& kernels() {
  switch (isa()) {
    case Isa::Plain: return kPlainKernels;
    case Isa::Avx2: return kAvx2Kernels;
    case Isa::Avx512: return kAvx512Kernels;
    case Isa::Amx: return amx_kernels();
  }
  return kPlainKernels;
}

}  // namespace shardwise::kernel
