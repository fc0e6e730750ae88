// Small made-up vocabularies for the tests of this room.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shardwise/text/byte_level.h"
#include "shardwise/text/vocabulary.h"

namespace shardwise {

// The 256 bytes (id = byte), then what the merges make, then control tokens <bos> <eos> <|im_start|> <|im_end|> and the
// user-defined "\n\n".
inline Vocabulary byte_vocabulary(const std::vector<std::string>& merges, std::string pre = "gpt-2") {
  Vocabulary made;
  made.kind = Vocabulary::Kind::ByteLevelBpe;
  made.pre = std::move(pre);
  for (int byte = 0; byte < 256; ++byte) {
    made.tokens.emplace_back(spelling_of_byte(static_cast<unsigned char>(byte)));
  }
  made.merges = merges;
  for (std::string merge : merges) {
    merge.erase(merge.find(' ', 1), 1);
    made.tokens.push_back(merge);
  }
  made.types.assign(made.tokens.size(), TokenType::Normal);
  const auto add = [&](const char* text, TokenType type) {
    made.tokens.emplace_back(text);
    made.types.push_back(type);
    return static_cast<int>(made.tokens.size()) - 1;
  };
  made.bos = add("<bos>", TokenType::Control);
  made.eos = add("<eos>", TokenType::Control);
  add("<|im_start|>", TokenType::Control);
  add("<|im_end|>", TokenType::Control);
  add("\n\n", TokenType::UserDefined);
  return made;
}

// <unk> <s> </s>, the bytes <0x00> to <0xFF> (id = byte + 3), then the pieces with the scores given.
inline Vocabulary piece_vocabulary(const std::vector<std::pair<std::string, float>>& pieces) {
  Vocabulary made;
  made.kind = Vocabulary::Kind::SentencePiece;
  const auto add = [&](std::string text, float score, TokenType type) {
    made.tokens.push_back(std::move(text));
    made.scores.push_back(score);
    made.types.push_back(type);
  };
  add("<unk>", 0, TokenType::Unknown);
  add("<s>", 0, TokenType::Control);
  add("</s>", 0, TokenType::Control);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), 0, TokenType::Byte);
  for (const auto& [text, score] : pieces) add(text, score, TokenType::Normal);
  return made;
}

}  // namespace shardwise
