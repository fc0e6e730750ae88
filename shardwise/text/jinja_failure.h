// How a template ends early inside the Jinja engine, and the budget that ends a hostile one.
// Invariant: Failure never leaves the text room; ChatTemplate turns it into an Error.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

namespace shardwise::jinja {

struct Failure {
  std::string what;
  bool raised = false;  // by the template's own raise_exception: `what` is the template's message
};

template <class... Args>
[[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{fmt::format(format, std::forward<Args>(args)...)};
}

// What one render may cost. Real conversations use a few per cent of it.
struct Limits {
  std::size_t max_steps = 20'000'000;          // nodes evaluated, items visited, 64 bytes built or 256 bytes scanned
  std::size_t max_string_bytes = 64ull << 20;  // of any one string, the output included
  std::size_t max_depth = 400;                 // nested evaluations, macro calls included
  std::size_t max_range = 100'000;             // items of one range(), as in Jinja's sandbox
};

constexpr std::size_t kMaxValueDepth = 100;  // lists in dicts in lists ...
constexpr std::size_t kMaxParseDepth = 100;  // nested brackets and blocks of the source
constexpr int kMaxTreeHeight = 200;          // a + b + c + ... leans to one side, and counts too

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  void charge(std::size_t steps) {
    if (steps > limits_.max_steps - used_) stop("it took more than {} steps, the limit", limits_.max_steps);
    used_ += steps;
  }
  // Call before building a string of so many bytes.
  void produce(std::size_t bytes) {
    check_size(bytes);
    charge(1 + bytes / 64);
  }
  void check_size(std::size_t bytes) const {
    if (bytes > limits_.max_string_bytes)
      stop("it builds a string of {} bytes, the limit is {}", bytes, limits_.max_string_bytes);
  }
  void scan(std::size_t bytes) { charge(1 + bytes / 256); }

  const Limits& limits() const { return limits_; }
  std::size_t used_steps() const { return used_; }

  // One level of evaluation, for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (budget_.depth_ >= budget_.limits_.max_depth)
        stop("it nests deeper than {} levels, the limit", budget_.limits_.max_depth);
      ++budget_.depth_;
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  Limits limits_;
  std::size_t used_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace shardwise::jinja
