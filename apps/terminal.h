// What a person sees while waiting: progress bars on stderr when it is a terminal, and Ctrl-C that ends cleanly.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace shardwise {

// Draws itself from the second quarter of a second on; erased when it ends.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  void show(double done);  // 0 to 1

 private:
  std::string what_;
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

// Set by the first Ctrl-C after the call; a second one ends the program at once.
const std::atomic<bool>& interrupted();

std::string human_bytes(double bytes);  // "12.3 MiB"

}  // namespace shardwise
