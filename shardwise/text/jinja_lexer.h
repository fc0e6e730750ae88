// A template's source as tokens. White space around tags is settled here: trim_blocks and lstrip_blocks are on, and one
// newline at the end is dropped, as Hugging Face sets Jinja.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardwise::jinja {

struct Token {
  enum class Kind { Data, PrintBegin, PrintEnd, BlockBegin, BlockEnd, Name, String, Integer, Float, Operator, End };
  Kind kind;
  std::string text;  // of Data and String: what they stand for, escapes resolved
  int line = 1;      // from 1
  std::int64_t integer = 0;
  double real = 0;

  bool is(std::string_view op) const { return kind == Kind::Operator && text == op; }
  bool is_name(std::string_view name) const { return kind == Kind::Name && text == name; }
};

std::vector<Token> tokens_of(std::string_view source);  // ends with End; throws Failure "line N: ..."

std::string described(const Token& token);  // for messages

}  // namespace shardwise::jinja
