// A value, or one sentence on why there is none: for what the world may get wrong (files, plans, requests, peers).
// What only we can get wrong is a CHECK (check.h).
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace shardwise {

struct Error {
  std::string what;  // where, what was found, what was expected, the way out; no full stop at the end
};

// fail("plan '{}': axis '{}' is not in the mesh", text, name)
template <class... Args>
Error fail(fmt::format_string<Args...> format, Args&&... args) {
  return Error{fmt::format(format, std::forward<Args>(args)...)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : is_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : is_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return is_.index() == 0; }
  T& operator*() & { return std::get<0>(is_); }
  const T& operator*() const& { return std::get<0>(is_); }
  T&& operator*() && { return std::get<0>(std::move(is_)); }
  T* operator->() { return &std::get<0>(is_); }
  const T* operator->() const { return &std::get<0>(is_); }
  const Error& error() const { return std::get<1>(is_); }

 private:
  std::variant<T, Error> is_;
};

// Of what gives nothing back: done, or the sentence why not.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace shardwise
