// Every sequence of up to three bytes against a decoder written the slow way, from the standard's definition.
#include "shardwise/text/utf8.h"

#include <gtest/gtest.h>

#include <optional>

namespace shardwise {
namespace {

// The code point that exactly these bytes encode: decode by bit pattern, then encode again and compare.
std::optional<char32_t> slow_decode(std::string_view bytes) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  const int length = first < 0x80 ? 1 : (first >> 5) == 6 ? 2 : (first >> 4) == 14 ? 3 : (first >> 3) == 30 ? 4 : 0;
  if (length == 0 || static_cast<size_t>(length) != bytes.size()) return std::nullopt;
  char32_t point = length == 1 ? first : first & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if ((static_cast<uint8_t>(bytes[i]) >> 6) != 2) return std::nullopt;
    point = point << 6 | (static_cast<uint8_t>(bytes[i]) & 0x3F);
  }
  if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return std::nullopt;
  std::string again;
  append_utf8(again, point);
  return again == bytes ? std::optional(point) : std::nullopt;
}

TEST(Utf8, EveryShortSequenceIsClassedAsTheStandardSays) {
  for (int value = 0; value < 1 << 24; value += value < 1 << 16 ? 1 : 7) {
    const char bytes[] = {static_cast<char>(value), static_cast<char>(value >> 8), static_cast<char>(value >> 16)};
    const std::string_view all(bytes, value < 256 ? 1 : value < 65536 ? 2 : 3);
    const Utf8Step step = utf8_step(all);
    ASSERT_GE(step.length, 1);
    ASSERT_LE(static_cast<size_t>(step.length), all.size());
    bool whole = false;
    for (size_t length = 1; length <= all.size(); ++length) {
      const auto point = slow_decode(all.substr(0, length));
      if (!point) continue;
      whole = true;
      ASSERT_EQ(step.kind, Utf8::Whole) << std::hex << value;
      ASSERT_EQ(step.point, *point) << std::hex << value;
    }
    if (!whole) {
      ASSERT_NE(step.kind, Utf8::Whole) << std::hex << value;
    }
  }
}

TEST(Utf8, AllCodePointsRoundTrip) {
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    std::string text;
    append_utf8(text, point);
    const Utf8Step step = utf8_step(text);
    ASSERT_EQ(step.kind, Utf8::Whole);
    ASSERT_EQ(step.point, point);
    ASSERT_EQ(static_cast<size_t>(step.length), text.size());
  }
}

TEST(Utf8, IllFormedStretchesBecomeOneReplacementEach) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"plain text, and longer", "plain text, and longer"},
      {"\x80", "\uFFFD"},
      {"a\xFF"
       "b",
       "a\uFFFDb"},
      {"\xE6\xAD", "\uFFFD"},                  // cut off
      {"\xE6\xADx", "\uFFFDx"},                // its beginning is one stretch
      {"\xC0\x80", "\uFFFD\uFFFD"},            // overlong
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},  // surrogate
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", "\uFFFD\U0001F600"},
  };
  for (const auto& [bytes, want] : cases) {
    EXPECT_EQ(sanitised(bytes), want);
    EXPECT_TRUE(is_utf8(sanitised(bytes)));
    EXPECT_EQ(is_utf8(bytes), std::string(bytes) == want);
  }
}

}  // namespace
}  // namespace shardwise
