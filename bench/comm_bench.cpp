// What ranks that are threads pay to meet: barrier, all_reduce and a message there and back, between two of them,
// beside the least that it could cost (each copies what the other wrote, and one barrier). Arguments: bytes, where; see
// kPlaces.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "shardwise/comm/comm.h"
#include "shardwise/comm/team.h"

namespace shardwise {
namespace {

// Free: the system places the ranks. Pinned: one a core. Busy: an endless loop runs beside them on the last core.
enum Place : int64_t { Free, Pinned, FreeBusy, PinnedBusy };
const std::vector<int64_t> kPlaces = {Free, Pinned, FreeBusy, PinnedBusy};
const std::vector<int64_t> kSizes = {2304, 8 << 10, 16 << 10, 64 << 10, 1 << 20};

class BusyLoop {
 public:
  BusyLoop()
      : thread_([this] {
          pin_to_core(usable_cores().back());
          while (!stop_.load(std::memory_order_relaxed)) continue;
        }) {}
  ~BusyLoop() {
    stop_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Runs step(rank) on two threads at once, as often as the benchmark wants, and measures the first.
void measure(benchmark::State& state, int64_t place, const std::function<void(int)>& step) {
  std::optional<BusyLoop> busy;
  if (place == FreeBusy || place == PinnedBusy) busy.emplace();
  const auto pin = [&](int rank) {
    const std::vector<int> cores = usable_cores();
    if (place == Pinned || place == PinnedBusy) pin_to_core(cores[size_t(rank) % cores.size()]);
  };
  // Both on new threads: a pin would stay on the benchmark's own.
  std::thread first([&] {
    pin(0);
    for ([[maybe_unused]] auto _ : state) step(0);
  });
  std::thread second([&] {
    pin(1);
    for (benchmark::IterationCount i = 0; i < state.max_iterations; ++i) step(1);
  });
  first.join();
  second.join();
}

void barrier(benchmark::State& state) {
  Barrier both(2);
  measure(state, state.range(0), [&](int) { both.wait(); });
}

struct Pair {
  std::vector<World> worlds;
  std::vector<double> fresh[2], floats[2][2];

  explicit Pair(benchmark::State& state) {
    worlds = thread_worlds(Mesh{{{"tp", 2, {1, 1}}}});
    for (int rank = 0; rank < 2; ++rank) {
      fresh[rank].assign(size_t(state.range(0)) / sizeof(double), 1.0f);
      floats[rank][0] = floats[rank][1] = fresh[rank];
    }
    state.SetBytesProcessed(int64_t(state.max_iterations) * state.range(0));
  }
  Group& group(int rank) { return *worlds[size_t(rank)].axis[0]; }
  // A rank has just computed what it brings, so its own core holds it: else the buffers would stay cut as they were
  // summed.
  std::vector<double>& computed(int rank, int which) {
    std::memcpy(floats[rank][which].data(), fresh[rank].data(), fresh[rank].size() * sizeof(double));
    return floats[rank][which];
  }
};

void all_reduce(benchmark::State& state) {
  Pair pair(state);
  measure(state, state.range(1), [&](int rank) { pair.group(rank).all_reduce(pair.computed(rank, 0)); });
}

void copy_and_barrier(benchmark::State& state) {
  Pair pair(state);
  Barrier both(2);
  std::vector<double> got[2] = {pair.fresh[0], pair.fresh[1]};
  int turn[2] = {0, 0};
  measure(state, state.range(1), [&](int rank) {
    const int which = turn[rank] ^= 1;
    pair.computed(rank, which);
    both.wait();
    std::memcpy(got[rank].data(), pair.floats[1 - rank][which].data(), size_t(state.range(0)));
  });
}

void there_and_back(benchmark::State& state) {
  Pair pair(state);
  measure(state, state.range(1), [&](int rank) {
    const auto bytes = std::as_writable_bytes(std::span(pair.floats[rank][0]));
    if (rank == 0) pair.group(0).send(bytes, 1);
    pair.group(rank).recv(bytes, 1 - rank);
    if (rank == 1) pair.group(1).send(bytes, 0);
  });
}

BENCHMARK(barrier)->ArgsProduct({kPlaces})->UseRealTime();
BENCHMARK(all_reduce)->ArgsProduct({kSizes, kPlaces})->UseRealTime();
BENCHMARK(copy_and_barrier)->ArgsProduct({kSizes, kPlaces})->UseRealTime();
BENCHMARK(there_and_back)->ArgsProduct({kSizes, kPlaces})->UseRealTime();

}  // namespace
}  // namespace shardwise

BENCHMARK_MAIN();
