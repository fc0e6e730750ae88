// What a model file says of its tokens: texts, kinds, merges and who is special. Plain data, filled from GGUF metadata
// or by vocabulary_from_tokenizer_json; Tokenizer::make is where it is checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"

namespace shardwise {

// The numbering of GGUF's tokenizer.ggml.token_type.
enum class TokenType : int {
  Undefined = 0,
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6
};

struct Vocabulary {
  enum class Kind {
    ByteLevelBpe,   // tokenizer.ggml.model "gpt2": bytes spelled in GPT-2's alphabet, pre-tokenizer, ranked merges
    SentencePiece,  // tokenizer.ggml.model "llama": characters, U+2581 for a space, byte fallback <0xXX>
  };

  Kind kind = Kind::ByteLevelBpe;
  std::vector<std::string> tokens;        // by id, spelled as in the file
  std::vector<float> scores;              // SentencePiece: the higher merges first; empty when `merges` rank instead
  std::vector<TokenType> types;           // empty: all Normal
  std::vector<std::string> merges;        // "left right" by rank
  std::string pre;                        // tokenizer.ggml.pre, see pretokenize.h; empty: "default", with a warning
  std::vector<std::string> pre_patterns;  // ByteLevelBpe: regular expressions that stand in place of `pre`
  std::optional<bool> ignore_merges;      // a piece that is a token as a whole is not merged; unset: as `pre` implies

  int bos = -1, eos = -1, unk = -1, pad = -1, eot = -1;  // -1: none
  std::vector<int> stop;  // ids that end a generation, over and above eos, eot and those known by their text
  std::vector<int> strip_left, strip_right;  // special tokens that swallow the white space before or after them

  std::optional<bool> add_bos, add_eos;  // unset: as the kind or the pre-tokenizer implies
  // SentencePiece: a space goes before the text (unset: yes), and before each text that follows a special token too
  // ("legacy", what GGUF files mean) or only at the very start.
  std::optional<bool> add_space_prefix;
  bool space_prefix_after_special = true;
  bool space_prefix_unless_present = false;  // no second space before text that begins with one
  bool split_on_space = false;               // merges do not cross the start of a word
  bool needs_nfc = false;                    // the file asks for Unicode NFC, which is left to the caller
};

// The kind for GGUF's tokenizer.ggml.model. Others ("bert", "t5", "rwkv" ...) are refused by name.
Result<Vocabulary::Kind> vocabulary_kind(std::string_view tokenizer_model);

// Reads a Hugging Face folder: the texts of tokenizer.json, tokenizer_config.json and generation_config.json (the last
// two may be empty). Byte-level BPE and SentencePiece-like BPE with byte fallback are read; WordPiece, Unigram,
// WordLevel and unknown normalizers or pre-tokenizers are refused by name.
Result<Vocabulary> vocabulary_from_tokenizer_json(std::string_view tokenizer_json, std::string_view tokenizer_config,
                                                  std::string_view generation_config = {});

// All ids that end a generation: eos, eot, `stop`, and control tokens whose text is known to end a turn.
std::vector<int> stop_tokens(const Vocabulary& vocabulary);

// Whether the parts fit together: equal lengths, ids in range, something to merge by.
Status check_vocabulary(const Vocabulary& vocabulary);

}  // namespace shardwise
