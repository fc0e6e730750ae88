// The tokens of a template as both halves of the parser walk them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shardwise/text/jinja_failure.h"
#include "shardwise/text/jinja_lexer.h"

namespace shardwise::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  bool at_name(std::string_view name) const { return now().is_name(name); }
  bool at_op(std::string_view op) const { return now().is(op); }

  Token take() {
    Token token = now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool take_name(std::string_view name) { return at_name(name) && (take(), true); }
  bool take_op(std::string_view op) { return at_op(op) && (take(), true); }

  std::string expect_name() {
    if (now().kind != Token::Kind::Name) fail_here("expected a name, found {}", described(now()));
    return take().text;
  }
  void expect_name(std::string_view name) {
    if (!take_name(name)) fail_here("expected '{}', found {}", name, described(now()));
  }
  void expect_op(std::string_view op) {
    if (!take_op(op)) fail_here("expected '{}', found {}", op, described(now()));
  }
  void expect(Token::Kind kind) {
    if (now().kind != kind) fail_here("expected {}, found {}", described(Token{kind, "", 0, 0, 0}), described(now()));
    take();
  }

  template <class... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> format, Args&&... args) const {
    stop("line {}: {}", now().line, fmt::format(format, std::forward<Args>(args)...));
  }

  // One level of nesting, for as long as it lives.
  class Level {
   public:
    explicit Level(TokenStream& stream) : stream_(stream) {
      if (stream_.depth_ >= kMaxParseDepth)
        stream_.fail_here("nested deeper than {} levels, the limit", kMaxParseDepth);
      ++stream_.depth_;
    }
    ~Level() { --stream_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenStream& stream_;
  };

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace shardwise::jinja
