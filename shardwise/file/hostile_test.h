// For tests: a folder that goes away, bytes put together by hand, and the measure of a refusal: what it says, what it
// cost in time and memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"

namespace shardwise {

class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void write_file(const std::string& path, std::string_view bytes);
std::string read_file(const std::string& path);

// Appends numbers in little endian.
class Bytes {
 public:
  Bytes& raw(std::string_view text) { return bytes_.append(text), *this; }
  Bytes& u8(uint8_t v) { return number(v); }
  Bytes& u32(uint32_t v) { return number(v); }
  Bytes& u64(uint64_t v) { return number(v); }
  Bytes& text(std::string_view v) { return u64(v.size()).raw(v); }  // as GGUF stores it
  Bytes& pad(size_t multiple) { return bytes_.resize((bytes_.size() + multiple - 1) / multiple * multiple), *this; }
  Bytes& zeros(size_t count) { return bytes_.append(count, '\0'), *this; }
  const std::string& str() const { return bytes_; }

 private:
  template <class T>
  Bytes& number(T v) {
    return bytes_.append(reinterpret_cast<const char*>(&v), sizeof v), *this;
  }
  std::string bytes_;
};

// GGUF up to the counts; one tensor info; one pair with a u32.
Bytes gguf_start(uint64_t tensors, uint64_t pairs, uint32_t version = 3);
Bytes& add_tensor(Bytes&, std::string_view name, std::vector<uint64_t> stored_dims, uint32_t type, uint64_t offset);

// The same bytes in memory of exactly their size, so that a sanitizer sees a read past the end.
std::vector<std::byte> exact(std::string_view bytes);

// The error of `open`, or "" if it succeeded. Fails the test when it took 100 ms of processor time or asked for 64 MB.
std::string cheap_error(const std::function<std::optional<Error>()>& open);

template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

// That `error` is one line and contains all of `words`.
void expect_words(const std::string& error, std::initializer_list<std::string_view> words);

}  // namespace shardwise
