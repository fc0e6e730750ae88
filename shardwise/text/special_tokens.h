// Finds special tokens in a text: leftmost first, the longest of those that begin together. Control tokens count only
// where every byte is trusted; tokens that users may write (runs of newlines, HTML tags) count everywhere.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace shardwise {

class SpecialTokens {
 public:
  struct Token {
    std::string text;
    int id = -1;
    bool control = false;
    bool strip_left = false, strip_right = false;  // swallows the white space before or after it
  };
  struct Match {
    size_t begin, end;  // bytes of the text, with what the token swallows
    int id;
  };

  SpecialTokens() = default;
  explicit SpecialTokens(std::vector<Token> tokens);

  // The first match that begins at or after `from`, begin == end == text.size() and id -1 if there is none.
  // trusted_until(at): where the stretch of trusted bytes around `at` ends, or `at` itself if that byte is not trusted.
  template <class TrustedUntil>
  Match next(std::string_view text, size_t from, const TrustedUntil& trusted_until) const {
    for (size_t at = from; at < text.size(); ++at) {
      if (!begins_[static_cast<unsigned char>(text[at])]) continue;
      if (const Token* token = longest_at(text.substr(at), trusted_until(at) - at)) {
        return widened(text, from, at, *token, trusted_until);
      }
    }
    return {text.size(), text.size(), -1};
  }

 private:
  // The longest token that `text` begins with; control tokens no longer than `trusted` bytes.
  const Token* longest_at(std::string_view text, size_t trusted) const;

  template <class TrustedUntil>
  static Match widened(std::string_view text, size_t from, size_t at, const Token& token,
                       const TrustedUntil& trusted_until) {
    constexpr std::string_view kSpaces = " \t\n\v\f\r";
    Match match{at, at + token.text.size(), token.id};
    const auto is_space = [&](size_t i) { return kSpaces.find(text[i]) != kSpaces.npos && trusted_until(i) > i; };
    while (token.strip_left && match.begin > from && is_space(match.begin - 1)) --match.begin;
    while (token.strip_right && match.end < text.size() && is_space(match.end)) ++match.end;
    return match;
  }

  std::vector<Token> tokens_;  // by text
  std::array<bool, 256> begins_ = {};
};

}  // namespace shardwise
