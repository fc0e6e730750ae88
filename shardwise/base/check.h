// CHECK(cond, "format", ...): our own mistakes, and only those, end the program with the place and the values.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace shardwise {

template <class... Args>
[[noreturn]] void check_failed(const char* file, int line, const char* condition, fmt::format_string<Args...> format,
                               Args&&... args) {
  fmt::print(stderr, "{}:{}: CHECK({}) failed: {}\n", file, line, condition,
             fmt::format(format, std::forward<Args>(args)...));
  std::abort();
}

}  // namespace shardwise

#define CHECK(condition, ...) \
  ((condition) ? void() : ::shardwise::check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__))
