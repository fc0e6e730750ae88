// Where PCRE2 10.42 differs: U+180E counts as a space in its \s, and its tables end with Unicode 14.
#include "shardwise/text/stand_in.h"

#include <algorithm>
#include <iterator>

#include "shardwise/text/utf8.h"

namespace shardwise {
namespace {

// Characters of one class, by their bytes in UTF-8.
struct Class {
  char32_t by_bytes[5];  // 0: not needed
};
constexpr Class kUpper = {0, 0, 0x00C0, 0x1E00, 0x10400};
constexpr Class kLower = {0, 0, 0x00E0, 0x1E01, 0x10428};
// Patterns also name ranges of three-byte characters: these stand on the same side of them.
constexpr Class kLateUpper = {0, 0, 0, 0xA722, 0};
constexpr Class kLateLower = {0, 0, 0, 0xA723, 0};
constexpr Class kLetter = {0, 0, 0x05D0, 0x1200, 0x20000};
constexpr Class kMark = {0, 0, 0x0300, 0x1AB0, 0x1D165};
constexpr Class kNumber = {0, 0, 0x0661, 0x1369, 0x1D7CE};
constexpr Class kPunctuation = {0, 0, 0x00A1, 0x1360, 0x10100};
constexpr Class kSymbol = {0, 0, 0x00A9, 0x1940, 0x1F600};
constexpr Class kFormat = {0, 0, 0x00AD, 0x200B, 0x110BD};

struct Range {
  char32_t first, last;
  const Class& is;
};

// Ascending: U+180E, and all that Unicode 15 and 16 have added to letters, marks, numbers, punctuation and symbols.
// clang-format off
constexpr Range kRanges[] = {
    {0x0897, 0x0897, kMark}, {0x0CF3, 0x0CF3, kMark}, {0x0ECE, 0x0ECE, kMark}, {0x180E, 0x180E, kFormat},
    {0x1B4E, 0x1B4F, kPunctuation}, {0x1B7F, 0x1B7F, kPunctuation}, {0x1C89, 0x1C89, kUpper},
    {0x1C8A, 0x1C8A, kLower}, {0x2427, 0x2429, kSymbol}, {0x2FFC, 0x2FFF, kSymbol}, {0x31E4, 0x31E5, kSymbol},
    {0x31EF, 0x31EF, kSymbol}, {0xA7CB, 0xA7CC, kLateUpper}, {0xA7CD, 0xA7CD, kLateLower}, {0xA7DA, 0xA7DA, kLateUpper},
    {0xA7DB, 0xA7DB, kLateLower}, {0xA7DC, 0xA7DC, kLateUpper}, {0x105C0, 0x105F3, kLetter},
    {0x10D40, 0x10D49, kNumber},
    {0x10D4A, 0x10D4F, kLetter}, {0x10D50, 0x10D65, kUpper}, {0x10D69, 0x10D6D, kMark},
    {0x10D6E, 0x10D6E, kPunctuation}, {0x10D6F, 0x10D6F, kLetter}, {0x10D70, 0x10D85, kLower},
    {0x10D8E, 0x10D8F, kSymbol}, {0x10EC2, 0x10EC4, kLetter}, {0x10EFC, 0x10EFF, kMark}, {0x1123F, 0x11240, kLetter},
    {0x11241, 0x11241, kMark}, {0x11380, 0x11389, kLetter}, {0x1138B, 0x1138B, kLetter}, {0x1138E, 0x1138E, kLetter},
    {0x11390, 0x113B5, kLetter}, {0x113B7, 0x113B7, kLetter}, {0x113B8, 0x113C0, kMark}, {0x113C2, 0x113C2, kMark},
    {0x113C5, 0x113C5, kMark}, {0x113C7, 0x113CA, kMark}, {0x113CC, 0x113D0, kMark}, {0x113D1, 0x113D1, kLetter},
    {0x113D2, 0x113D2, kMark}, {0x113D3, 0x113D3, kLetter}, {0x113D4, 0x113D5, kPunctuation},
    {0x113D7, 0x113D8, kPunctuation}, {0x113E1, 0x113E2, kMark}, {0x116D0, 0x116E3, kNumber},
    {0x11B00, 0x11B09, kPunctuation}, {0x11BC0, 0x11BE0, kLetter}, {0x11BE1, 0x11BE1, kPunctuation},
    {0x11BF0, 0x11BF9, kNumber}, {0x11F00, 0x11F01, kMark}, {0x11F02, 0x11F02, kLetter}, {0x11F03, 0x11F03, kMark},
    {0x11F04, 0x11F10, kLetter}, {0x11F12, 0x11F33, kLetter}, {0x11F34, 0x11F3A, kMark}, {0x11F3E, 0x11F42, kMark},
    {0x11F43, 0x11F4F, kPunctuation}, {0x11F50, 0x11F59, kNumber}, {0x11F5A, 0x11F5A, kMark},
    {0x1342F, 0x1342F, kLetter}, {0x13440, 0x13440, kMark}, {0x13441, 0x13446, kLetter}, {0x13447, 0x13455, kMark},
    {0x13460, 0x143FA, kLetter}, {0x16100, 0x1611D, kLetter}, {0x1611E, 0x1612F, kMark}, {0x16130, 0x16139, kNumber},
    {0x16D40, 0x16D6C, kLetter}, {0x16D6D, 0x16D6F, kPunctuation}, {0x16D70, 0x16D79, kNumber},
    {0x18CFF, 0x18CFF, kLetter}, {0x1B132, 0x1B132, kLetter}, {0x1B155, 0x1B155, kLetter},
    {0x1CC00, 0x1CCEF, kSymbol}, {0x1CCF0, 0x1CCF9, kNumber}, {0x1CD00, 0x1CEB3, kSymbol},
    {0x1D2C0, 0x1D2D3, kNumber}, {0x1DF25, 0x1DF2A, kLower}, {0x1E030, 0x1E06D, kLetter}, {0x1E08F, 0x1E08F, kMark},
    {0x1E4D0, 0x1E4EB, kLetter}, {0x1E4EC, 0x1E4EF, kMark}, {0x1E4F0, 0x1E4F9, kNumber}, {0x1E5D0, 0x1E5ED, kLetter},
    {0x1E5EE, 0x1E5EF, kMark}, {0x1E5F0, 0x1E5F0, kLetter}, {0x1E5F1, 0x1E5FA, kNumber},
    {0x1E5FF, 0x1E5FF, kPunctuation}, {0x1F6DC, 0x1F6DC, kSymbol}, {0x1F774, 0x1F776, kSymbol},
    {0x1F77B, 0x1F77F, kSymbol}, {0x1F7D9, 0x1F7D9, kSymbol}, {0x1F8B2, 0x1F8BB, kSymbol},
    {0x1F8C0, 0x1F8C1, kSymbol}, {0x1FA75, 0x1FA77, kSymbol}, {0x1FA87, 0x1FA89, kSymbol},
    {0x1FA8F, 0x1FA8F, kSymbol}, {0x1FAAD, 0x1FAAF, kSymbol}, {0x1FABB, 0x1FABF, kSymbol},
    {0x1FAC6, 0x1FAC6, kSymbol}, {0x1FACE, 0x1FACF, kSymbol}, {0x1FADA, 0x1FADC, kSymbol},
    {0x1FADF, 0x1FADF, kSymbol}, {0x1FAE8, 0x1FAE9, kSymbol}, {0x1FAF7, 0x1FAF8, kSymbol},
    {0x1FBCB, 0x1FBEF, kSymbol}, {0x2B739, 0x2B739, kLetter}, {0x2EBF0, 0x2EE5D, kLetter},
    {0x31350, 0x323AF, kLetter},
};
// clang-format on

char32_t stand_in_of(char32_t point) {
  if (point < kRanges[0].first) return point;
  const Range* after = std::ranges::upper_bound(kRanges, point, {}, &Range::first);
  if (after == std::begin(kRanges)) return point;
  const Range& range = *std::prev(after);
  if (point > range.last) return point;
  return range.is.by_bytes[point < 0x800 ? 2 : point < 0x10000 ? 3 : 4];
}

}  // namespace

std::optional<std::string> stand_in_text(std::string_view text) {
  std::optional<std::string> made;
  std::string_view left = text;
  while (!left.empty()) {
    if (static_cast<unsigned char>(left[0]) < 0x80) {  // the common case, and never replaced
      if (made) *made += left[0];
      left.remove_prefix(1);
      continue;
    }
    const Utf8Step step = utf8_step(left);
    const bool whole = step.kind == Utf8::Whole;
    const char32_t point = whole ? stand_in_of(step.point) : 0;
    if (!made && (!whole || point != step.point)) made = std::string(text.substr(0, text.size() - left.size()));
    if (made && whole) append_utf8(*made, point);
    if (made && !whole) made->append(step.length, '\x01');
    left.remove_prefix(step.length);
  }
  return made;
}

}  // namespace shardwise
