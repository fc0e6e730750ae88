// Speed of the kernels on one thread: decode in bytes of packed weights a second, prefill in operations a second.
// SHARDWISE_ISA=plain|avx2|avx512|amx chooses the instruction set.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "shardwise/kernel/kernel.h"

namespace shardwise::kernel {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Block = std::unique_ptr<std::byte, Free>;

Block aligned(int64_t bytes) {
  Block block(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64))));
  std::memset(block.get(), 0, static_cast<size_t>(bytes));
  return block;
}

// All zeros: the speed does not depend on the values.
struct Matrix {
  Block memory;
  PackedMatrix packed;
};

Matrix matrix(DType type, int64_t rows, int64_t cols) {
  Matrix m;
  m.packed = {type, rows, cols, nullptr};
  const int64_t bytes = m.packed.panels() * panel_bytes(type, cols);
  m.memory = aligned(bytes);
  m.packed.data = m.memory.get();
  return m;
}

void run_linear(benchmark::State& state, DType type) {
  const int64_t tokens = state.range(0), rows = state.range(1), cols = 2048;
  const Matrix w = matrix(type, rows, cols);
  std::vector<float> x(static_cast<size_t>(tokens * cols), 0.5f), y(static_cast<size_t>(tokens * rows));
  const Block quantized = aligned(quantized_bytes(tokens, cols));
  if (is_quantised(type)) quantize(x.data(), cols, tokens, cols, quantized.get(), {});
  for (auto _ : state) {
    if (is_quantised(type))
      linear_quantized(w.packed, quantized.get(), tokens, {y.data()}, rows, 0, {});
    else
      linear(w.packed, x.data(), cols, tokens, {y.data()}, rows, 0, {});
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  const double runs = static_cast<double>(state.iterations());
  state.counters["weight_bytes_per_s"] = benchmark::Counter(
      runs * static_cast<double>(w.packed.panels() * panel_bytes(type, cols)), benchmark::Counter::kIsRate);
  state.counters["ops_per_s"] =
      benchmark::Counter(runs * 2.0 * static_cast<double>(tokens * rows * cols), benchmark::Counter::kIsRate);
}

void run_attend(benchmark::State& state, CacheType type) {
  const int64_t tokens = state.range(0), context = state.range(1), heads = 8, group = 4, head_size = 64;
  const int64_t page_bytes = heads / group * page_head_bytes(type, head_size);
  const Block cache = aligned(context / kPageRows * page_bytes);
  std::vector<int32_t> rows(static_cast<size_t>(context)), positions(static_cast<size_t>(tokens)),
      sequences(static_cast<size_t>(tokens));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i);
  for (int64_t t = 0; t < tokens; ++t) positions[static_cast<size_t>(t)] = static_cast<int32_t>(context - tokens + t);
  std::vector<Page> pages;
  for (int64_t p = 0; p < context / kPageRows; ++p)
    pages.push_back({cache.get() + p * page_bytes, rows.data() + p * kPageRows});
  const std::span<const Page> of_sequence(pages);
  std::vector<float> q(static_cast<size_t>(tokens * heads * head_size), 0.1f), out(q.size());
  Attend a;
  a.q = q.data(), a.tokens = tokens, a.heads = heads, a.head_size = head_size, a.group = group;
  a.positions = positions.data(), a.sequences = sequences.data(), a.pages = {&of_sequence, 1}, a.type = type;
  for (auto _ : state) {
    attend(a, {out.data()}, {});
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  const double seen = static_cast<double>(tokens) * (static_cast<double>(context) - static_cast<double>(tokens) / 2);
  state.counters["ops_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 4.0 * seen * static_cast<double>(heads * head_size),
                         benchmark::Counter::kIsRate);
}

void run_rope(benchmark::State& state) {
  const int64_t tokens = 64, heads = 9, head_size = 64;
  std::vector<float> x(static_cast<size_t>(tokens * heads * head_size), 0.1f), frequencies(32, 0.01f);
  std::vector<int32_t> positions(static_cast<size_t>(tokens), 1000);
  for (auto _ : state) {
    rope(x.data(), tokens, heads, head_size, positions.data(), {frequencies, 1, state.range(0) != 0}, x.data(), {});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(x.size()));
}

void run_gate(benchmark::State& state, Gate kind) {
  std::vector<float> g(8192, 0.3f), up(8192, 0.2f), y(8192);
  for (auto _ : state) {
    gate(kind, g.data(), up.data(), 8192, y.data(), {});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 8192);
}

void run_quantize(benchmark::State& state) {
  std::vector<float> x(64 * 2048, 0.3f);
  const Block out = aligned(quantized_bytes(64, 2048));
  for (auto _ : state) {
    quantize(x.data(), 2048, 64, 2048, out.get(), {});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 64 * 2048);
}

void register_all() {
  for (DType type : {DType::F32, DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                     DType::Q8_0, DType::Q2_K, DType::Q3_K, DType::Q4_K, DType::Q5_K, DType::Q6_K}) {
    benchmark::RegisterBenchmark(("linear/" + std::string(info(type).name)).c_str(), run_linear, type)
        ->ArgNames({"tokens", "rows"})
        ->Args({1, 65536})
        ->Args({1, 512})
        ->Args({4, 2048})
        ->Args({64, 2048})
        ->Args({512, 2048});
  }
  for (CacheType type : {CacheType::F16, CacheType::F32}) {
    benchmark::RegisterBenchmark(type == CacheType::F16 ? "attend/F16" : "attend/F32", run_attend, type)
        ->ArgNames({"tokens", "context"})
        ->Args({1, 2048})
        ->Args({512, 512})
        ->Args({512, 4096});
  }
  benchmark::RegisterBenchmark("rope", run_rope)->ArgName("interleaved")->Arg(0)->Arg(1);
  benchmark::RegisterBenchmark("gate/silu", run_gate, Gate::Silu);
  benchmark::RegisterBenchmark("gate/gelu", run_gate, Gate::GeluTanh);
  benchmark::RegisterBenchmark("quantize", run_quantize);
}

}  // namespace
}  // namespace shardwise::kernel

int main(int argc, char** argv) {
  shardwise::kernel::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
