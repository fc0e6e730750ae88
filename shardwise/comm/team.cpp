// How threads wait, and where they run. Atomics carry all ordering; the futex only puts to sleep and wakes.
#include "shardwise/comm/team.h"

#include <hwloc.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstddef>
#include <span>

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

// About what it costs to sleep and be woken: spinning longer could at best save that once more.
constexpr std::chrono::nanoseconds kSpin = std::chrono::microseconds(40);
constexpr int kPausesPerLook = 8;
constexpr uint32_t kTryAgain = 32;

constexpr uint64_t kClosedBit = uint64_t(1) << 31;
constexpr uint64_t kMissingMask = kClosedBit - 1;

static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == sizeof(uint32_t),
              "a futex is a plain 32-bit word");

// Threads that have ever waited here, live, and do not sleep on a Signal now. Above the number of cores a spinning
// thread would only keep the one from running that it waits for.
std::atomic<int> threads_awake{0};

// Spins for as long as it pays. A spin in vain halves the next one: the other thread is far behind, or waits for this
// very core. One that succeeds, as every kTryAgain-th may, brings back the full length.
class Spinner {
 public:
  Spinner() { threads_awake.fetch_add(1, std::memory_order_relaxed); }
  ~Spinner() { threads_awake.fetch_sub(1, std::memory_order_relaxed); }

  template <class Done>
  bool spin_until(const Done& done);

 private:
  std::chrono::nanoseconds length_ = kSpin;
  uint32_t spins_ = 0;
};

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class Done>
bool Spinner::spin_until(const Done& done) {
  static const int cores = int(usable_cores().size());
  if (threads_awake.load(std::memory_order_relaxed) > cores) return false;
  if (++spins_ % kTryAgain == 0) length_ = kSpin;
  const auto start = std::chrono::steady_clock::now();
  while (threads_awake.load(std::memory_order_relaxed) <= cores && std::chrono::steady_clock::now() - start < length_) {
    for (int i = 0; i < kPausesPerLook; ++i) {
      pause();
      if (done()) {
        length_ = kSpin;
        return true;
      }
    }
  }
  length_ /= 2;
  return false;
}

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  threads_awake.fetch_sub(1, std::memory_order_relaxed);
  const long failed = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
  // Who is woken was counted by the one that woke it: it takes a core from then on, not from when it gets one.
  if (failed) threads_awake.fetch_add(1, std::memory_order_relaxed);
}

void wake_all(std::atomic<uint32_t>& word) {
  const long woken = syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  if (woken > 0) threads_awake.fetch_add(int(woken), std::memory_order_relaxed);
}

}  // namespace

void Signal::raise() {
  // Both sequentially consistent, as the sleeper's in the other order: one of the two sees the other.
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) wake_all(value_);
}

Signal::State Signal::state(uint32_t value, uint32_t at_least) const {
  // Closed before reached: close() moves the value, too.
  if (closed()) return State::Closed;
  return int32_t(value - at_least) >= 0 ? State::Reached : State::Waiting;
}

bool Signal::wait_for(uint32_t at_least) {
  State now = state(value(), at_least);
  if (now == State::Waiting) {
    thread_local Spinner spinner;
    spinner.spin_until([&] { return (now = state(value(), at_least)) != State::Waiting; });
  }
  if (now == State::Waiting) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t seen = value_.load(std::memory_order_seq_cst);
      now = state(seen, at_least);
      if (now != State::Waiting) break;
      sleep_while(value_, seen);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  return now == State::Reached;
}

void Signal::close() {
  closed_.store(true, std::memory_order_release);
  raise();
}

Barrier::Barrier(int size) : size_(size), state_(uint64_t(size)) { CHECK(size > 0, "a barrier of {} threads", size); }

bool Barrier::wait() {
  uint64_t seen = state_.load(std::memory_order_relaxed);
  uint64_t next = 0;
  bool last = false;
  do {
    if (seen & kClosedBit) return false;
    last = (seen & kMissingMask) == 1;
    next = last ? (((seen >> 32) + 1) << 32 | uint64_t(size_)) : seen - 1;
  } while (!state_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
  const auto round = uint32_t(seen >> 32);
  if (last) {
    round_.raise();
    return true;
  }
  if (round_.wait_for(round + 1)) return true;
  return uint32_t(state_.load(std::memory_order_acquire) >> 32) != round;
}

void Barrier::close() {
  state_.fetch_or(kClosedBit, std::memory_order_acq_rel);
  round_.close();
}

namespace {

// Lives as long as the process. Null where hwloc cannot see the machine.
hwloc_topology_t topology() {
  static const hwloc_topology_t loaded = [] {
    hwloc_topology_t made = nullptr;
    if (hwloc_topology_init(&made) != 0) return hwloc_topology_t(nullptr);
    if (hwloc_topology_load(made) == 0) return made;
    hwloc_topology_destroy(made);
    return hwloc_topology_t(nullptr);
  }();
  return loaded;
}

std::vector<int> find_cores() {
  std::vector<int> first, siblings;
  if (topology()) {
    const hwloc_bitmap_t allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology()));
    const hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(topology(), bound, HWLOC_CPUBIND_PROCESS) == 0) hwloc_bitmap_and(allowed, allowed, bound);
    const hwloc_bitmap_t taken = hwloc_bitmap_alloc();  // whole cores of which one hardware thread is in `first`
    for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology(), HWLOC_OBJ_PU, pu));) {
      if (!hwloc_bitmap_isset(allowed, pu->os_index)) continue;
      const bool sibling = hwloc_bitmap_isset(taken, pu->os_index);
      (sibling ? siblings : first).push_back(int(pu->os_index));
      const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology(), HWLOC_OBJ_CORE, pu);
      if (core) hwloc_bitmap_or(taken, taken, core->cpuset);
    }
    hwloc_bitmap_free(taken);
    hwloc_bitmap_free(bound);
    hwloc_bitmap_free(allowed);
  }
  first.insert(first.end(), siblings.begin(), siblings.end());
  if (first.empty()) first.push_back(0);
  return first;
}

}  // namespace

std::vector<int> usable_cores() {
  static const std::vector<int> found = find_cores();
  return found;
}

namespace {

void bind_to(std::span<const int> cores) {
  if (!topology()) return;
  const hwloc_bitmap_t set = hwloc_bitmap_alloc();
  for (int core : cores) hwloc_bitmap_set(set, unsigned(core));
  hwloc_set_cpubind(topology(), set, HWLOC_CPUBIND_THREAD);
  hwloc_bitmap_free(set);
}

}  // namespace

void pin_to_core(int core) {
  usable_cores();  // first, or it would find this thread's one core only
  if (core >= 0) bind_to({&core, 1});
}

void unpin() { bind_to(usable_cores()); }

}  // namespace shardwise
