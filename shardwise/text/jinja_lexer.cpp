// One pass over the source: text, tags and what stands in them. Newlines are "\n" from the start.
#include "shardwise/text/jinja_lexer.h"

#include <algorithm>
#include <charconv>

#include "shardwise/text/jinja_failure.h"
#include "shardwise/text/jinja_unicode.h"
#include "shardwise/text/utf8.h"

namespace shardwise::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string with_unix_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(with_unix_newlines(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_root();
    push(Token::Kind::End, "");
    return std::move(tokens_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> format, Args&&... args) {
    stop("line {}: {}", line_, fmt::format(format, std::forward<Args>(args)...));
  }

  Token& push(Token::Kind kind, std::string text) {
    tokens_.push_back(Token{kind, std::move(text), line_, 0, 0});
    return tokens_.back();
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  bool starts(std::string_view text) const { return source_.compare(at_, text.size(), text) == 0; }

  // Moves to byte `to` and counts the lines on the way.
  void advance(std::size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    if (to > at_) line_starting_ = source_[to - 1] == '\n';
    at_ = to;
  }

  void skip_space() {
    std::size_t to = at_;
    while (to < source_.size() && is_space(character_at(source_, to).point)) to += character_at(source_, to).size;
    if (to > at_) advance(to);
  }

  // Text up to byte `end`, where a tag opens that carries `sign` ('-', '+' or none) and is a {{ or not.
  void push_data(std::size_t end, char sign, bool print) {
    std::string_view text = std::string_view(source_).substr(at_, end - at_);
    if (sign == '-') {
      while (!text.empty()) {
        const std::size_t last = start_of_last(text, text.size());
        if (!is_space(character_at(text, last).point)) break;
        text = text.substr(0, last);
      }
    } else if (sign != '+' && !print) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
      const bool at_line_start = begin > 0 || line_starting_;
      if (at_line_start && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_blank))
        text = text.substr(0, begin);
    }
    if (!text.empty()) push(Token::Kind::Data, std::string(text));
    advance(end);
  }

  static char sign_of(char c) { return c == '-' || c == '+' ? c : '\0'; }

  void read_root() {
    std::size_t open = at_;
    for (;; ++open) {
      open = source_.find('{', open);
      if (open == std::string::npos || open + 1 >= source_.size()) {
        if (at_ < source_.size()) push(Token::Kind::Data, source_.substr(at_));
        return advance(source_.size());
      }
      const char next = source_[open + 1];
      if (next == '{' || next == '%' || next == '#') break;
    }
    const char kind = source_[open + 1];
    const char sign = open + 2 < source_.size() ? sign_of(source_[open + 2]) : '\0';
    push_data(open, sign, kind == '{');
    advance(open + 2 + (sign ? 1 : 0));
    if (kind == '#') return read_comment();
    if (kind == '{') return read_tag(Token::Kind::PrintBegin, Token::Kind::PrintEnd, "}}");
    if (!read_raw()) read_tag(Token::Kind::BlockBegin, Token::Kind::BlockEnd, "%}");
  }

  void read_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail_here("a comment is never closed with '#}}'");
    const char sign = end > at_ ? sign_of(source_[end - 1]) : '\0';
    close_tag(end, sign);
  }

  // Behind the end of a block or comment whose last two bytes begin at `end`.
  void close_tag(std::size_t end, char sign) {
    advance(end + 2);
    if (sign == '-') skip_space();
    if (!sign && peek() == '\n') advance(at_ + 1);
  }

  static std::size_t past_blanks(const std::string& text, std::size_t at) {
    while (at < text.size() && is_blank(text[at])) ++at;
    return at;
  }

  // {% raw %} ... {% endraw %}, with at_ behind the first "{%". False: this is another tag.
  bool read_raw() {
    std::size_t at = past_blanks(source_, at_);
    if (source_.compare(at, 3, "raw") != 0) return false;
    at = past_blanks(source_, at + 3);
    const bool strip = at < source_.size() && source_[at] == '-';
    if (source_.compare(at + (strip ? 1 : 0), 2, "%}") != 0) return false;
    advance(at + (strip ? 3 : 2));
    if (strip) skip_space();
    for (std::size_t open = source_.find("{%", at_); open != std::string::npos; open = source_.find("{%", open + 1)) {
      const char sign = open + 2 < source_.size() ? sign_of(source_[open + 2]) : '\0';
      at = past_blanks(source_, open + 2 + (sign ? 1 : 0));
      if (source_.compare(at, 6, "endraw") != 0) continue;
      at = past_blanks(source_, at + 6);
      const char end_sign = at < source_.size() ? sign_of(source_[at]) : '\0';
      if (end_sign) ++at;
      if (source_.compare(at, 2, "%}") != 0) continue;
      push_data(open, sign, false);
      close_tag(at, end_sign);
      return true;
    }
    fail_here("a raw block is never closed with '{{% endraw %}}'");
  }

  void read_tag(Token::Kind begin, Token::Kind end, std::string_view closing) {
    push(begin, "");
    std::string open_brackets;
    while (at_ < source_.size()) {
      skip_space();
      if (at_ >= source_.size()) break;
      const char sign = sign_of(peek());
      const bool signed_end = sign && (sign == '-' || closing == "%}") && source_.compare(at_ + 1, 2, closing) == 0;
      if (open_brackets.empty() && (signed_end || starts(closing))) {
        push(end, "");
        const std::size_t close = at_ + (signed_end ? 1 : 0);
        if (closing == "%}") return close_tag(close, signed_end ? sign : '\0');
        advance(close + 2);
        if (signed_end) skip_space();
        return;
      }
      read_token(open_brackets);
    }
    fail_here("a tag is never closed with '{}'", closing);
  }

  void read_token(std::string& open_brackets) {
    const char c = peek();
    if (is_digit(c)) return read_number();
    if (is_name_start(c)) return read_name();
    if (c == '\'' || c == '"') return read_string();
    for (const std::string_view op : {"//", "**", "==", "!=", ">=", "<="}) {
      if (starts(op)) {
        push(Token::Kind::Operator, std::string(op));
        return advance(at_ + 2);
      }
    }
    if (std::string_view("+-/*%~[](){}<>=.:|,;").find(c) == std::string_view::npos)
      fail_here("unexpected character '{}'", c >= 0x20 && c < 0x7F ? std::string(1, c) : fmt::format("\\x{:02x}", c));
    if (c == '{') open_brackets += '}';
    if (c == '(') open_brackets += ')';
    if (c == '[') open_brackets += ']';
    if (c == '}' || c == ')' || c == ']') {
      if (open_brackets.empty() || open_brackets.back() != c)
        fail_here("unexpected '{}', expected {}", c,
                  open_brackets.empty() ? "no bracket" : open_brackets.substr(open_brackets.size() - 1));
      open_brackets.pop_back();
    }
    push(Token::Kind::Operator, std::string(1, c));
    advance(at_ + 1);
  }

  void read_name() {
    std::size_t end = at_;
    while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end]))) ++end;
    push(Token::Kind::Name, source_.substr(at_, end - at_));
    advance(end);
  }

  // Digits with single underscores between them, from `at`; the end, or `at` where there are none.
  std::size_t past_digits(std::size_t at, bool (*digit)(char)) const {
    while (at < source_.size() &&
           (digit(source_[at]) || (source_[at] == '_' && at + 1 < source_.size() && digit(source_[at + 1]))))
      ++at;
    return at;
  }

  void read_number() {
    const std::size_t begin = at_;
    const bool after_dot = begin > 0 && source_[begin - 1] == '.';  // items[0].1.2 counts, it has no fractions
    if (peek() == '0' && read_prefixed_number()) return;
    std::size_t end = past_digits(begin, is_digit);
    bool real = false;
    if (!after_dot && end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      end = past_digits(end + 1, is_digit);
      real = true;
    }
    if (!after_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < source_.size() && sign_of(source_[exponent])) ++exponent;
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        end = past_digits(exponent, is_digit);
        real = true;
      }
    }
    std::string digits = source_.substr(begin, end - begin);
    std::erase(digits, '_');
    if (!real && digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != std::string::npos)
      fail_here("the number '{}' starts with a zero", digits);
    Token& token = push(real ? Token::Kind::Float : Token::Kind::Integer, digits);
    if (real) {
      std::from_chars(digits.data(), digits.data() + digits.size(), token.real);
    } else if (std::from_chars(digits.data(), digits.data() + digits.size(), token.integer).ec != std::errc()) {
      fail_here("the number '{}' does not fit 64 bits", digits);
    }
    advance(end);
  }

  bool read_prefixed_number() {
    const char kind = static_cast<char>(peek(1) | 0x20);
    const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (base == 0) return false;
    const auto hex = [](char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); };
    const std::size_t end = past_digits(at_ + 2, hex);
    std::string digits = source_.substr(at_ + 2, end - at_ - 2);
    std::erase(digits, '_');
    Token& token = push(Token::Kind::Integer, digits);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), token.integer, base);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size())
      fail_here("the number '0{}{}' cannot be read", kind, digits);
    advance(end);
    return true;
  }

  void read_string() {
    const char quote = peek();
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail_here("a string is never closed");
    push(Token::Kind::String, unescaped(std::string_view(source_).substr(at_ + 1, end - at_ - 1)));
    advance(end + 1);
  }

  std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] != '\\' || at + 1 == text.size()) {
        out += text[at++];
        continue;
      }
      const char c = text[at + 1];
      static constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
      const std::size_t simple = kFrom.find(c);
      at += 2;
      if (simple != std::string_view::npos) {
        out += kTo[simple];
      } else if (c == 'x' || c == 'u' || c == 'U') {
        append_point(out, text, at, c == 'x' ? 2 : c == 'u' ? 4 : 8);
      } else if (c >= '0' && c <= '7') {
        char32_t value = static_cast<char32_t>(c - '0');
        for (int i = 0; i < 2 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++i)
          value = value * 8 + static_cast<char32_t>(text[at++] - '0');
        append_utf8(out, value);
      } else if (c != '\n') {  // a backslash at the end of a line joins the lines
        if (c == 'N') fail_here("'\\N{{...}}' in a string is not supported");
        out += '\\';
        out += c;
      }
    }
    return out;
  }

  char32_t read_hex(std::string_view text, std::size_t at, std::size_t digits) {
    std::uint32_t value = 0;
    const char* begin = text.data() + std::min(at, text.size());
    const char* end = text.data() + std::min(at + digits, text.size());
    if (end - begin != static_cast<std::ptrdiff_t>(digits) || std::from_chars(begin, end, value, 16).ptr != end)
      fail_here("a string has an escape that lacks some of its {} digits", digits);
    return value;
  }

  // \xhh, \uhhhh, \Uhhhhhhhh; two halves of a pair are one character, a lone half is U+FFFD.
  void append_point(std::string& out, std::string_view text, std::size_t& at, std::size_t digits) {
    char32_t point = read_hex(text, at, digits);
    at += digits;
    const bool high = point >= 0xD800 && point < 0xDC00;
    if (high && text.substr(std::min(at, text.size()), 2) == "\\u") {
      const char32_t low = read_hex(text, at + 2, 4);
      if (low >= 0xDC00 && low < 0xE000) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        at += 6;
      }
    }
    if (point > 0x10FFFF) fail_here("a string has an escape past U+10FFFF");
    append_utf8(out, point >= 0xD800 && point < 0xE000 ? 0xFFFD : point);
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // the byte before at_ ends a line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).run(); }

std::string described(const Token& token) {
  switch (token.kind) {
    case Token::Kind::End: return "the end of the template";
    case Token::Kind::BlockEnd: return "'%}'";
    case Token::Kind::PrintEnd: return "'}}'";
    case Token::Kind::BlockBegin: return "'{%'";
    case Token::Kind::PrintBegin: return "'{{'";
    case Token::Kind::Data: return "text";
    default: return "'" + token.text + "'";
  }
}

}  // namespace shardwise::jinja
