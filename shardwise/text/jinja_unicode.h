// Characters of a string by index, and Python's idea of space, case and printability over them.
// Invariant: any bytes are accepted; a stretch that is not UTF-8 counts as one character and is kept as it is.
#pragma once

#include <cstddef>
#include <string_view>

namespace shardwise::jinja {

struct Character {
  char32_t point = 0;  // U+FFFD where the bytes are not UTF-8
  std::size_t size = 0;
  bool valid = true;
};

Character character_at(std::string_view bytes, std::size_t at);      // REQUIRES: at < bytes.size()
std::size_t length(std::string_view bytes);                          // in characters
std::size_t byte_of(std::string_view bytes, std::size_t index);      // of the index-th character, or bytes.size()
std::size_t start_of_last(std::string_view bytes, std::size_t end);  // of the character that ends at `end` > 0

bool is_space(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_alpha(char32_t c);      // exact for scripts with case; past U+0370 everything but space and punctuation blocks
bool is_printable(char32_t c);  // as Python's repr() decides, but for code points not yet assigned
char32_t to_upper(char32_t c);  // one character to one: "ß" stays
char32_t to_lower(char32_t c);

}  // namespace shardwise::jinja
