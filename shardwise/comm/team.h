// The threads inside a rank, and how threads wait: a waiter spins briefly and then sleeps, so that a busy neighbour or
// more threads than cores costs its share and no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace shardwise {

// A number that only grows, on which threads can wait.
class Signal {
 public:
  void raise();                       // by one, and wakes who waits
  void wait_for(uint32_t at_least);   // returns once value() >= at_least (modulo 2^32 arithmetic)
  uint32_t value() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

// All `size` threads arrive before any leaves; what they wrote before is seen by all after.
class Barrier {
 public:
  explicit Barrier(int size);
  void wait();

 private:
  const int size_;
  alignas(64) std::atomic<int> missing_;
  alignas(64) Signal round_;
};

// The cores of this machine that this process may use, best first: one hardware thread a core before its siblings.
std::vector<int> usable_cores();

// Binds the calling thread to one core, by hwloc; silently does nothing where the system does not allow it.
void pin_to_core(int core);

}  // namespace shardwise
