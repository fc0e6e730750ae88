// Byte-level BPE: a text is cut into pieces, and the bytes of each piece are merged by rank. Vocabularies spell bytes
// in GPT-2's alphabet: printable Latin-1 spells itself, the other 68 bytes take U+0100 upwards in order.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/text/bpe.h"
#include "shardwise/text/pretokenize.h"
#include "shardwise/text/token_index.h"
#include "shardwise/text/vocabulary.h"

namespace shardwise {

// The character (UTF-8) that spells a byte.
std::string_view spelling_of_byte(unsigned char byte);

// The bytes that a spelling stands for; nothing if a character of it is not in the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

class ByteLevelEncoder {
 public:
  // Both must outlive the encoder. Refuses an unknown pre-tokenizer by name.
  static Result<ByteLevelEncoder> make(const Vocabulary& vocabulary, const TokenIndex& index);

  // Appends the ids of a text without special tokens. A byte that no token spells is left out, as its model never saw
  // it.
  void encode(std::string_view text, std::vector<int>& ids) const;

 private:
  ByteLevelEncoder(PreTokenizer pretokenizer, MergeTable merges)
      : pretokenizer_(std::move(pretokenizer)), merges_(std::move(merges)) {}
  void append_symbol(int symbol, std::vector<int>& ids) const;

  PreTokenizer pretokenizer_;
  MergeTable merges_;
  const TokenIndex* index_ = nullptr;
  int token_count_ = 0;
  bool ignore_merges_ = false;
  std::array<int, 256> byte_symbols_ = {};
};

}  // namespace shardwise
