// UTF-8 by the Unicode standard's table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardwise {

enum class Utf8 { Whole, Cut, Bad };

// What stands at the front of `bytes` (not empty): a whole character; the beginning of one that the end of `bytes` cuts
// off; or bytes that belong to no character. `length` is how many bytes that is: for Bad, the longest beginning of a
// character (at least 1), which is one U+FFFD in the standard's recommended practice.
struct Utf8Step {
  Utf8 kind;
  int length;
  char32_t point;  // of a Whole character
};
Utf8Step utf8_step(std::string_view bytes);

bool is_utf8(std::string_view bytes);

void append_utf8(std::string& out, char32_t point);  // REQUIRES: a code point that is not a surrogate

// `bytes` with each ill-formed stretch replaced by U+FFFD, a cut-off end too.
std::string sanitised(std::string_view bytes);

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace shardwise
