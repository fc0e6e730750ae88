// A position in bytes that came from outside: every take checks what is left first, so no read passes the end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace shardwise {

static_assert(std::endian::native == std::endian::little, "model files are little endian and are read in place");

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }

  // A number stored in sizeof(T) bytes of any alignment; nothing when they are not all there.
  template <class T>
  std::optional<T> take() {
    if (left() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::optional<std::span<const std::byte>> take_bytes(uint64_t count) {
    if (left() < count) return std::nullopt;
    auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  // A 64-bit length, then as many bytes: the strings of GGUF.
  std::optional<std::string_view> take_text() {
    const auto length = take<uint64_t>();
    if (!length) return std::nullopt;
    const auto text = take_bytes(*length);
    if (!text) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(text->data()), text->size());
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
};

}  // namespace shardwise
