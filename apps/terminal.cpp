// Terminal output is plain ANSI; nothing is drawn where nobody watches.
#include "apps/terminal.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace shardwise {
namespace {

constexpr int kWidth = 30;
constexpr std::chrono::milliseconds kPatience{250}, kRedraw{50};

std::atomic<bool> interrupt_seen{false};

void on_interrupt(int) { interrupt_seen.store(true, std::memory_order_relaxed); }

}  // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)),
      terminal_(isatty(STDERR_FILENO) == 1),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::show(double done) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - begin_ < kPatience || now - last_ < kRedraw) return;
  last_ = now, drawn_ = true;
  const int full = int(done * kWidth);
  fmt::print(stderr, "\r{} [{}{}] {:3.0f} %", what_, std::string(size_t(full), '#'),
             std::string(size_t(kWidth - full), '.'), 100 * done);
  std::fflush(stderr);
}

const std::atomic<bool>& interrupted() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  return interrupt_seen;
}

std::string human_bytes(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t u = 0;
  for (; bytes >= 1024 && u + 1 < std::size(units); ++u) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, u == 0 ? 0 : 1, units[u]);
}

}  // namespace shardwise
