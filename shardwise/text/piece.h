// A stretch of prompt and whether its author may write control tokens. What the chat template wrote is trusted; what
// users, tools and replayed answers put into it is not. Every path from template to tokenizer carries pieces.
#pragma once

#include <string>

namespace shardwise {

struct Piece {
  std::string text;      // UTF-8
  bool trusted = false;  // control tokens are recognised only in bytes that are trusted

  bool operator==(const Piece&) const = default;
};

}  // namespace shardwise
