// Text to token ids and back, for one vocabulary. Ids equal those the model was trained on; decode(encode(x)) == x for
// valid UTF-8; text that is not trusted can never become a control token. Immutable: any number of threads may share
// it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/text/piece.h"
#include "shardwise/text/vocabulary.h"

namespace shardwise {

class Tokenizer {
 public:
  // Refuses a vocabulary whose parts do not fit together, and an unknown pre-tokenizer by name.
  static Result<Tokenizer> make(Vocabulary vocabulary);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The ids of a text, without BOS and EOS. With parse_special the text may name control tokens ("<|im_end|>"); without
  // it they are ordinary characters. Bytes that are not UTF-8 are kept.
  std::vector<int> encode(std::string_view text, bool parse_special) const;

  // The same for text of mixed origin: a control token is recognised only where all its bytes are trusted. Apart from
  // that the pieces are one text: cutting ordinary content into pieces changes no id.
  std::vector<int> encode(std::span<const Piece> pieces) const;

  // BOS before and EOS after as the vocabulary says, never a second one.
  std::vector<int> with_ends(std::vector<int> ids) const;

  // The text of ids; control tokens are left out unless show_special. Ids out of range are left out.
  std::string decode(std::span<const int> ids, bool show_special = false) const;

  // The bytes an id stands for, control tokens spelled out; not always UTF-8 by themselves. REQUIRES: 0 <= id < size().
  std::string token_bytes(int id) const;

  int size() const;
  bool is_special(int id) const;  // control or unknown: never shown to users
  bool is_stop(int id) const;     // ends a generation
  const std::vector<int>& stops() const;
  int bos() const;                          // -1: none
  int eos() const;                          // -1: none
  int id_of(std::string_view token) const;  // by its spelling in the file, -1: none
  const Vocabulary& vocabulary() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

}  // namespace shardwise
