// Characters merged into pieces as SentencePiece's BPE does it: of all neighbours whose joined text is a token the one
// of the highest score is joined first, the leftmost of equals. What no token spells falls back to bytes <0xXX>.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/text/bpe.h"
#include "shardwise/text/token_index.h"
#include "shardwise/text/vocabulary.h"

namespace shardwise {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, what a space is spelled as

// The byte that a token "<0x0A>" stands for, -1 if it is not spelled so.
int byte_of_spelling(std::string_view text);

class SentencePieceEncoder {
 public:
  // Both must outlive the encoder. Merges by `merges` where the vocabulary has them, else by `scores`.
  static Result<SentencePieceEncoder> make(const Vocabulary& vocabulary, const TokenIndex& index);

  // Appends the ids of a text without special tokens, spaces still as spaces; `prefixed`: a space goes before it.
  void encode(std::string_view text, bool prefixed, std::vector<int>& ids) const;

 private:
  struct Symbol {
    uint32_t begin, length;  // in the marked text; length 0: merged into its left neighbour
    int32_t previous, next;
    int32_t id;  // -1: no token
  };
  struct Candidate {
    float score;
    int32_t at, id;
    uint32_t length;
  };

  void merge_by_score(std::string_view marked, std::vector<int>& ids) const;
  void merge_by_rank(std::string_view marked, std::vector<int>& ids) const;
  void append_bytes(std::string_view bytes, std::vector<int>& ids) const;

  const Vocabulary* vocabulary_ = nullptr;
  const TokenIndex* index_ = nullptr;
  std::array<int, 256> byte_ids_ = {};  // -1: none
  std::shared_ptr<const MergeTable> merges_;
};

}  // namespace shardwise
