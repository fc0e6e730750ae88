// Characters over UTF-8, and tables of what Python takes them for.
#include "shardwise/text/jinja_unicode.h"

#include <algorithm>
#include <iterator>

#include "shardwise/text/jinja_case_table.h"
#include "shardwise/text/utf8.h"

namespace shardwise::jinja {
namespace {

// Where a string is ASCII, characters are bytes.
bool is_ascii(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

const CaseRun* run_of_upper(char32_t c) {
  const CaseRun* after = std::upper_bound(std::begin(kCaseRuns), std::end(kCaseRuns), c,
                                          [](char32_t value, const CaseRun& run) { return value < run.first; });
  // Runs of step 2 may enclose later ones, so look back over a few.
  for (int back = 0; back < 4 && after != std::begin(kCaseRuns); ++back) {
    --after;
    if (c <= after->last && (c - after->first) % after->step == 0) return after;
  }
  return nullptr;
}

}  // namespace

Character character_at(std::string_view bytes, std::size_t at) {
  const auto first = static_cast<unsigned char>(bytes[at]);
  if (first < 0x80) return {first, 1, true};
  const Utf8Step step = utf8_step(bytes.substr(at, 8));
  if (step.kind == Utf8::Whole) return {step.point, static_cast<std::size_t>(step.length), true};
  return {0xFFFD, std::min<std::size_t>(static_cast<std::size_t>(step.length), bytes.size() - at), false};
}

std::size_t length(std::string_view bytes) {
  if (is_ascii(bytes)) return bytes.size();
  std::size_t count = 0;
  for (std::size_t at = 0; at < bytes.size(); at += character_at(bytes, at).size) ++count;
  return count;
}

std::size_t byte_of(std::string_view bytes, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < bytes.size(); --index) at += character_at(bytes, at).size;
  return at;
}

std::size_t start_of_last(std::string_view bytes, std::size_t end) {
  for (std::size_t size = std::min<std::size_t>(4, end); size > 1; --size) {
    const Character c = character_at(bytes.substr(0, end), end - size);
    if (c.size == size && c.valid) return end - size;
  }
  return end - 1;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

char32_t to_lower(char32_t c) {
  const CaseRun* run = run_of_upper(c);
  return run ? static_cast<char32_t>(static_cast<std::int64_t>(c) + run->shift) : c;
}

char32_t to_upper(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  for (const CaseRun& run : kCaseRuns) {
    const auto upper = static_cast<std::int64_t>(c) - run.shift;
    if (upper >= run.first && upper <= run.last && (upper - run.first) % run.step == 0)
      return static_cast<char32_t>(upper);
  }
  if (c == 0xB5) return 0x39C;  // these four have a capital that goes back to another small letter
  if (c == 0x131) return 'I';
  if (c == 0x17F) return 'S';
  if (c == 0x3C2) return 0x3A3;
  return c;
}

bool is_upper(char32_t c) { return run_of_upper(c) != nullptr; }
bool is_lower(char32_t c) { return to_upper(c) != c || c == 0xDF || c == 0xAA || c == 0xBA; }

bool is_alpha(char32_t c) {
  if (is_upper(c) || is_lower(c)) return true;
  if (c < 0x370) return (c >= 0x100 && c < 0x2C2);
  const bool mark_or_sign = (c >= 0x2000 && c < 0x2C00) || (c >= 0x2E00 && c < 0x3005) || (c >= 0xFE00 && c < 0xFE70) ||
                            (c >= 0xFF00 && c < 0xFF21) || (c >= 0x1F000 && c < 0x20000) || (c >= 0xE000 && c < 0xF900);
  return !is_space(c) && !mark_or_sign && c < 0xE0000 && c != 0xFFFD;
}

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  if (c < 0xA1 || c == 0xAD) return false;
  if (is_space(c)) return false;
  const bool format = (c >= 0x600 && c <= 0x605) || c == 0x61C || c == 0x6DD || c == 0x70F || c == 0x180E ||
                      (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) ||
                      c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
  const bool private_use = (c >= 0xE000 && c <= 0xF8FF) || c >= 0xF0000;
  return !format && !private_use;
}

}  // namespace shardwise::jinja
