// Python's str operations over marked text: what a result keeps of its source keeps its marks.
#include <algorithm>

#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_unicode.h"
#include "shardwise/text/utf8.h"

namespace shardwise::jinja {
namespace {

// Text made character by character; `turn` gives the new code point of the old one and its index.
template <class Turn>
Text mapped(Budget& budget, const Text& text, Turn turn) {
  budget.produce(text.size() * 2);
  budget.charge(text.size() / 8);
  Text out;
  std::size_t index = 0;
  for (std::size_t at = 0; at < text.size(); ++index) {
    const Character c = character_at(text.bytes(), at);
    const char32_t turned = c.valid ? turn(c.point, index) : c.point;
    if (turned == c.point) {
      out.append(text, at, at + c.size);
    } else {
      std::string bytes;
      append_utf8(bytes, turned);
      out.append(bytes, text.trusted_at(at));
    }
    at += c.size;
  }
  out.markup = text.markup;
  return out;
}

bool among(const Text* chars, const Text& text, std::size_t at, const Character& c) {
  if (!chars) return c.valid && is_space(c.point);
  const std::string_view one = std::string_view(text.bytes()).substr(at, c.size);
  for (std::size_t i = 0; i < chars->size(); i += character_at(chars->bytes(), i).size)
    if (std::string_view(chars->bytes()).substr(i, character_at(chars->bytes(), i).size) == one) return true;
  return false;
}

struct Word {
  std::size_t begin, end;
};

std::vector<Word> words_of(const std::string& bytes) {
  std::vector<Word> words;
  bool inside = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const Character c = character_at(bytes, at);
    const bool space = c.valid && is_space(c.point);
    if (!space && !inside) words.push_back({at, at});
    inside = !space;
    at += c.size;
    if (inside) words.back().end = at;
  }
  return words;
}

void require_separator(const Text& separator) {
  if (separator.empty()) stop("split needs a separator that is not empty");
}

}  // namespace

Text strip(Budget& budget, const Text& text, const Text* chars, Side side) {
  budget.produce(text.size());
  std::size_t begin = 0, end = text.size();
  while (side != Side::Right && begin < end) {
    const Character c = character_at(text.bytes(), begin);
    if (!among(chars, text, begin, c)) break;
    if (chars) budget.charge(1 + chars->size() / 8);
    begin += c.size;
  }
  while (side != Side::Left && begin < end) {
    const std::size_t last = start_of_last(text.bytes(), end);
    if (!among(chars, text, last, character_at(text.bytes(), last))) break;
    if (chars) budget.charge(1 + chars->size() / 8);
    end = last;
  }
  return text.sub(begin, end);
}

Text replace(Budget& budget, const Text& text, const Text& from, const Text& to, std::int64_t count) {
  budget.scan(text.size());
  Text out;
  std::size_t begin = 0;
  const auto put = [&](std::size_t at) {
    out.append(text, begin, at);
    budget.charge(1 + to.size() / 64);
    budget.check_size(out.size() + to.size());
    out.append(to);
    begin = at;
  };
  if (from.empty()) {  // between all characters, and at both ends
    for (std::size_t at = 0; count != 0 && at <= text.size(); --count) {
      put(at);
      at += at < text.size() ? character_at(text.bytes(), at).size : 1;
    }
  } else {
    for (; count != 0; --count) {
      const std::size_t hit = find_bytes(text.bytes(), from.bytes(), begin);
      if (hit == std::string_view::npos) break;
      put(hit);
      begin = hit + from.size();
    }
  }
  budget.produce(out.size() + text.size() - begin);
  out.append(text, begin, text.size());
  out.markup = text.markup;
  return out;
}

Text upper(Budget& budget, const Text& text) {
  return mapped(budget, text, [](char32_t c, std::size_t) { return to_upper(c); });
}

Text lower(Budget& budget, const Text& text) {
  return mapped(budget, text, [](char32_t c, std::size_t) { return to_lower(c); });
}

Text capitalize(Budget& budget, const Text& text) {
  return mapped(budget, text, [](char32_t c, std::size_t index) { return index == 0 ? to_upper(c) : to_lower(c); });
}

Text center(Budget& budget, const Text& text, std::int64_t width, std::string_view fill, Side side) {
  const auto missing = width - static_cast<std::int64_t>(length(text.bytes()));
  if (missing <= 0) return text;
  budget.check_size(static_cast<std::size_t>(missing));
  budget.produce(text.size() + static_cast<std::size_t>(missing) * fill.size());
  // Where both sides get some, str.center puts the odd one left only if the width is odd.
  const std::int64_t left = side == Side::Left    ? missing
                            : side == Side::Right ? 0
                                                  : missing / 2 + (missing & width & 1);
  const bool trusted = text.all_trusted();
  Text out;
  for (std::int64_t i = 0; i < left; ++i) out.append(fill, trusted);
  out.append(text);
  for (std::int64_t i = left; i < missing; ++i) out.append(fill, trusted);
  out.markup = text.markup;
  return out;
}

Text join(Budget& budget, const Text& separator, const std::vector<Text>& parts) {
  Text out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    budget.charge(1 + (separator.size() + parts[i].size()) / 64);
    budget.check_size(out.size() + separator.size() + parts[i].size());
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out;
}

Text repeat(Budget& budget, const Text& text, std::int64_t times) {
  Text out;
  out.markup = text.markup;
  if (times <= 0 || text.empty()) return out;
  const std::size_t most = budget.limits().max_string_bytes;
  const bool too_long = static_cast<std::uint64_t>(times) > most / text.size();
  budget.produce(too_long ? most + 1 : static_cast<std::size_t>(times) * text.size());
  const std::size_t size = static_cast<std::size_t>(times) * text.size();
  out.append(text);
  while (out.size() <= size / 2) out.append(Text(out));  // a copy: append reads while it writes
  out.append(Text(out), 0, size - out.size());
  return out;
}

std::vector<Text> split(Budget& budget, const Text& text, const Text* separator, std::int64_t limit) {
  budget.produce(text.size());
  std::vector<Text> parts;
  if (!separator) {
    const std::vector<Word> words = words_of(text.bytes());
    budget.charge(words.size() * 2);
    for (const Word& word : words) {
      if (limit == 0) {
        parts.push_back(strip(budget, text.sub(word.begin, text.size()), nullptr, Side::Left));
        return parts;
      }
      parts.push_back(text.sub(word.begin, word.end));
      --limit;
    }
    return parts;
  }
  require_separator(*separator);
  std::size_t begin = 0;
  for (; limit != 0; --limit) {
    const std::size_t hit = find_bytes(text.bytes(), separator->bytes(), begin);
    if (hit == std::string_view::npos) break;
    budget.charge(2);
    parts.push_back(text.sub(begin, hit));
    begin = hit + separator->size();
  }
  parts.push_back(text.sub(begin, text.size()));
  return parts;
}

std::vector<Text> split_from_right(Budget& budget, const Text& text, const Text* separator, std::int64_t limit) {
  budget.produce(text.size());
  if (limit < 0) return split(budget, text, separator, -1);
  std::vector<Text> parts;
  std::size_t end = text.size();
  if (!separator) {
    const std::vector<Word> words = words_of(text.bytes());
    budget.charge(words.size() * 2);
    for (auto word = words.rbegin(); word != words.rend(); ++word, --limit) {
      if (limit == 0) {
        parts.push_back(strip(budget, text.sub(0, word->end), nullptr, Side::Right));
        break;
      }
      parts.push_back(text.sub(word->begin, word->end));
    }
  } else {
    require_separator(*separator);
    // rfind is quadratic at worst: that work is paid for in full.
    budget.charge(text.size() * std::min<std::size_t>(separator->size(), 4096) / 256);
    for (; limit != 0; --limit) {
      const std::size_t hit =
          end < separator->size() ? std::string::npos : text.bytes().rfind(separator->bytes(), end - separator->size());
      if (hit == std::string::npos) break;
      budget.charge(2);
      parts.push_back(text.sub(hit + separator->size(), end));
      end = hit;
    }
    parts.push_back(text.sub(0, end));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> split_lines(Budget& budget, const Text& text, bool keep_ends) {
  budget.produce(text.size());
  std::vector<Text> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text.bytes(), at);
    std::size_t next = at + c.size;
    const bool ends = (c.point >= 0x0A && c.point <= 0x0D) || (c.point >= 0x1C && c.point <= 0x1E) || c.point == 0x85 ||
                      c.point == 0x2028 || c.point == 0x2029;
    if (ends && c.valid) {
      if (c.point == '\r' && next < text.size() && text.bytes()[next] == '\n') ++next;
      budget.charge(2);
      lines.push_back(text.sub(begin, keep_ends ? next : at));
      begin = next;
    }
    at = next;
  }
  if (begin < text.size()) lines.push_back(text.sub(begin, text.size()));
  return lines;
}

}  // namespace shardwise::jinja
