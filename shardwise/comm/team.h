// The threads inside a rank, and how threads wait: a waiter spins briefly and then sleeps, so that a busy neighbour or
// more threads than cores costs its share and no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace shardwise {

// A number that only grows, modulo 2^32, on which threads can wait. It outlives every call of raise() and close().
class Signal {
 public:
  explicit Signal(uint32_t first = 0) : value_(first) {}

  // By one, and wakes who waits; what was written before is seen by whoever returns from wait_for because of it.
  void raise();
  // Returns true once value() >= at_least, where at_least is less than 2^31 ahead of it; false as soon as the signal is
  // closed.
  bool wait_for(uint32_t at_least);
  // From now on nobody waits and value() means nothing. A value is good when closed() was false after it was read.
  void close();
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  uint32_t value() const { return value_.load(std::memory_order_acquire); }

 private:
  enum class State { Waiting, Reached, Closed };
  State state(uint32_t value, uint32_t at_least) const;

  std::atomic<uint32_t> value_;
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> closed_{false};
};

// All `size` threads arrive before any leaves; what they wrote before is seen by all after.
class Barrier {
 public:
  explicit Barrier(int size);

  // True when all have arrived; false when the barrier was closed before that, and then it is false for all of them.
  bool wait();
  void close();

 private:
  const int size_;
  // Round, missing threads and a closed bit in one word, so that a round is either complete for all or for none.
  alignas(64) std::atomic<uint64_t> state_;
  alignas(64) Signal round_;
};

// The cores of this machine that this process may use, best first: one hardware thread a core before its siblings.
// Found once, at the first call: later pins of threads do not change it. Numbers are those of the operating system.
std::vector<int> usable_cores();

// Binds the calling thread to one core, by hwloc; silently does nothing where the system does not allow it.
void pin_to_core(int core);

// Lets it run on any usable core again. Threads inherit the binding of the thread that starts them.
void unpin();

}  // namespace shardwise
