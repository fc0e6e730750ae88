// Cuts a text into pieces that merges never cross, as the model's regular expressions say. Pieces put together are the
// text again, whatever bytes it holds; the time is linear in its length for every named pre-tokenizer.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"

namespace shardwise {

// What GGUF's tokenizer.ggml.pre names.
struct PreTokenizerRule {
  std::string_view name;
  std::span<const std::string_view> patterns;  // each cuts the pieces that the one before it left
  bool ignore_merges = false;                  // a piece that is a token as a whole is not merged
  bool add_bos = false;                        // where the file does not say
};

// The rule of a name; an unknown name is refused with the list of known ones, never taken for another. An empty name is
// "default".
Result<PreTokenizerRule> pretokenizer_rule(std::string_view name);
std::vector<std::string_view> pretokenizer_names();

class PreTokenizer {
 public:
  // Patterns in PCRE2's syntax over Unicode text. A match is a piece, and so is what lies between matches.
  static Result<PreTokenizer> make(std::span<const std::string_view> patterns);

  // Appends the pieces of `text`, each a part of it. Bytes that are not UTF-8 are classed with control characters.
  // A pattern that exceeds its match limit (only patterns from files can) leaves the rest of its piece uncut and warns.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  struct Pattern;
  std::vector<std::shared_ptr<const Pattern>> patterns_;
};

}  // namespace shardwise
