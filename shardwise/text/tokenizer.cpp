// Special tokens cut the text; between them the vocabulary's own way of merging gives the ids.
#include "shardwise/text/tokenizer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

#include "shardwise/base/check.h"
#include "shardwise/text/byte_level.h"
#include "shardwise/text/pretokenize.h"
#include "shardwise/text/sentencepiece.h"
#include "shardwise/text/special_tokens.h"

namespace shardwise {
namespace {

bool is_control(TokenType type) { return type == TokenType::Control || type == TokenType::Unknown; }

// Files mark some control tokens as the user's own: "<|name|>" is never that.
bool looks_like_control(std::string_view text) {
  return (text.size() > 4 && text.starts_with("<|") && text.ends_with("|>")) ||
         (text.starts_with("<｜") && text.ends_with("｜>") && text.size() > 8);
}

std::vector<bool> ordinary(const Vocabulary& vocabulary) {
  std::vector<bool> keep(vocabulary.tokens.size());
  for (size_t id = 0; id < keep.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    keep[id] = !is_control(type) && type != TokenType::Byte;
  }
  return keep;
}

SpecialTokens special_tokens(const Vocabulary& vocabulary) {
  std::vector<SpecialTokens::Token> tokens;
  const auto has = [](const std::vector<int>& ids, int id) { return std::ranges::find(ids, id) != ids.end(); };
  for (int id = 0; id < static_cast<int>(vocabulary.tokens.size()); ++id) {
    const TokenType type = vocabulary.types[id];
    if (!is_control(type) && type != TokenType::UserDefined) continue;
    tokens.push_back(
        {vocabulary.tokens[id], id, is_control(type), has(vocabulary.strip_left, id), has(vocabulary.strip_right, id)});
  }
  return SpecialTokens(std::move(tokens));
}

// The bytes of each token, one after another.
struct TokenBytes {
  std::string all;
  std::vector<uint32_t> ends;  // by id

  explicit TokenBytes(const Vocabulary& vocabulary) {
    ends.reserve(vocabulary.tokens.size());
    for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
      append(vocabulary.tokens[id], vocabulary.types[id], vocabulary.kind);
      ends.push_back(static_cast<uint32_t>(all.size()));
    }
  }

  std::string_view of(int id) const {
    const uint32_t begin = id == 0 ? 0 : ends[id - 1];
    return std::string_view(all).substr(begin, ends[id] - begin);
  }

 private:
  void append(std::string_view text, TokenType type, Vocabulary::Kind kind) {
    if (type == TokenType::Byte) {
      if (const int byte = byte_of_spelling(text); byte >= 0) {
        all += static_cast<char>(byte);
        return;
      }
    }
    if (is_control(type) || type == TokenType::UserDefined) {
      all += text;
    } else if (kind == Vocabulary::Kind::ByteLevelBpe) {
      all += bytes_of_spelling(text).value_or(std::string(text));
    } else {
      for (size_t mark; (mark = text.find(kSpaceMark)) != text.npos; text.remove_prefix(mark + kSpaceMark.size())) {
        all.append(text.substr(0, mark)) += ' ';
      }
      all += text;
    }
  }
};

}  // namespace

struct Tokenizer::Parts {
  explicit Parts(Vocabulary&& from)
      : vocabulary(std::move(from)),
        index(vocabulary.tokens, ordinary(vocabulary)),
        specials(special_tokens(vocabulary)),
        bytes(vocabulary),
        stops(stop_tokens(vocabulary)) {}

  template <class TrustedUntil>
  std::vector<int> encode(std::string_view text, const TrustedUntil& trusted_until) const;

  const Vocabulary vocabulary;  // every choice made: no type, add_bos, add_eos or add_space_prefix is unset
  const TokenIndex index;       // of what ordinary text may become
  const SpecialTokens specials;
  const TokenBytes bytes;
  const std::vector<int> stops;
  std::optional<ByteLevelEncoder> byte_level;  // one of these two, by kind
  std::optional<SentencePieceEncoder> sentencepiece;
};

namespace {

// Fills in what the file left open, as files of this kind are meant.
Status complete(Vocabulary& vocabulary) {
  vocabulary.types.resize(vocabulary.tokens.size(), TokenType::Normal);
  for (size_t id = 0; id < vocabulary.types.size(); ++id) {
    TokenType& type = vocabulary.types[id];
    if (type == TokenType::UserDefined && looks_like_control(vocabulary.tokens[id])) type = TokenType::Control;
  }
  if (vocabulary.pad >= static_cast<int>(vocabulary.tokens.size())) vocabulary.pad = -1;  // common, and never used
  const bool pieces = vocabulary.kind == Vocabulary::Kind::SentencePiece;
  bool add_bos = pieces;
  if (pieces) {
    const auto take = [&](int& id, int usual) {
      if (id < 0 && usual < static_cast<int>(vocabulary.types.size()) && is_control(vocabulary.types[usual]))
        id = usual;
    };
    take(vocabulary.unk, 0);
    take(vocabulary.bos, 1);
    take(vocabulary.eos, 2);
  } else if (vocabulary.pre_patterns.empty()) {
    if (vocabulary.pre.empty()) spdlog::warn("vocabulary: names no pre-tokenizer, taking 'default': ids may be wrong");
    const auto rule = pretokenizer_rule(vocabulary.pre);
    if (!rule) return rule.error();
    add_bos = rule->add_bos;
  }
  if (vocabulary.needs_nfc) spdlog::warn("vocabulary: asks for Unicode NFC, which is not applied: send composed text");
  vocabulary.add_bos = vocabulary.add_bos.value_or(add_bos) && vocabulary.bos >= 0;
  vocabulary.add_eos = vocabulary.add_eos.value_or(false) && vocabulary.eos >= 0;
  vocabulary.add_space_prefix = vocabulary.add_space_prefix.value_or(true) && pieces;
  return {};
}

// Where stretches of equally trusted bytes end.
struct Stretch {
  size_t end;
  bool trusted;
};

}  // namespace

Result<Tokenizer> Tokenizer::make(Vocabulary vocabulary) {
  if (const Status fits = check_vocabulary(vocabulary); !fits) return fits.error();
  if (const Status done = complete(vocabulary); !done) return done.error();
  auto parts = std::make_unique<Parts>(std::move(vocabulary));
  if (parts->vocabulary.kind == Vocabulary::Kind::ByteLevelBpe) {
    auto encoder = ByteLevelEncoder::make(parts->vocabulary, parts->index);
    if (!encoder) return encoder.error();
    parts->byte_level = *std::move(encoder);
  } else {
    auto encoder = SentencePieceEncoder::make(parts->vocabulary, parts->index);
    if (!encoder) return encoder.error();
    parts->sentencepiece = *std::move(encoder);
  }
  return Tokenizer(std::move(parts));
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

template <class TrustedUntil>
std::vector<int> Tokenizer::Parts::encode(std::string_view text, const TrustedUntil& trusted_until) const {
  std::vector<int> ids;
  for (size_t at = 0; at < text.size();) {
    const SpecialTokens::Match match = specials.next(text, at, trusted_until);
    const std::string_view plain = text.substr(at, match.begin - at);
    if (byte_level) {
      byte_level->encode(plain, ids);
    } else {
      const bool here = vocabulary.space_prefix_after_special || at == 0;
      sentencepiece->encode(plain, *vocabulary.add_space_prefix && here, ids);
    }
    if (match.id >= 0) ids.push_back(match.id);
    at = match.end;
  }
  return ids;
}

std::vector<int> Tokenizer::encode(std::string_view text, bool parse_special) const {
  return parts_->encode(text, [&](size_t at) { return parse_special ? text.size() : at; });
}

std::vector<int> Tokenizer::encode(std::span<const Piece> pieces) const {
  std::string text;
  std::vector<Stretch> stretches;
  for (const Piece& piece : pieces) {
    if (piece.text.empty()) continue;
    text += piece.text;
    if (stretches.empty() || stretches.back().trusted != piece.trusted) stretches.push_back({0, piece.trusted});
    stretches.back().end = text.size();
  }
  return parts_->encode(text, [&](size_t at) {
    const auto stretch = std::ranges::upper_bound(stretches, at, {}, &Stretch::end);
    return stretch->trusted ? stretch->end : at;
  });
}

std::vector<int> Tokenizer::with_ends(std::vector<int> ids) const {
  const Vocabulary& vocabulary = parts_->vocabulary;
  if (*vocabulary.add_bos && (ids.empty() || ids.front() != vocabulary.bos)) ids.insert(ids.begin(), vocabulary.bos);
  if (*vocabulary.add_eos && (ids.empty() || ids.back() != vocabulary.eos)) ids.push_back(vocabulary.eos);
  return ids;
}

std::string Tokenizer::decode(std::span<const int> ids, bool show_special) const {
  const Vocabulary& vocabulary = parts_->vocabulary;
  std::string text;
  bool prefixed = *vocabulary.add_space_prefix;  // the next text begins with a space that encode put there
  for (const int id : ids) {
    if (id < 0 || id >= size()) continue;
    const TokenType type = vocabulary.types[id];
    const bool special = is_control(type);
    std::string_view bytes = parts_->bytes.of(id);
    if (special || type == TokenType::UserDefined) {
      prefixed = *vocabulary.add_space_prefix && vocabulary.space_prefix_after_special;
    } else {
      if (prefixed && bytes.starts_with(' ')) bytes.remove_prefix(1);
      prefixed = false;
    }
    if (!special || show_special) text += bytes;
  }
  return text;
}

std::string Tokenizer::token_bytes(int id) const {
  CHECK(id >= 0 && id < size(), "token {} of {}", id, size());
  return std::string(parts_->bytes.of(id));
}

int Tokenizer::size() const { return static_cast<int>(parts_->vocabulary.tokens.size()); }

bool Tokenizer::is_special(int id) const { return id >= 0 && id < size() && is_control(parts_->vocabulary.types[id]); }

bool Tokenizer::is_stop(int id) const { return std::ranges::binary_search(parts_->stops, id); }

const std::vector<int>& Tokenizer::stops() const { return parts_->stops; }

int Tokenizer::bos() const { return parts_->vocabulary.bos; }

int Tokenizer::eos() const { return parts_->vocabulary.eos; }

int Tokenizer::id_of(std::string_view token) const {
  if (const int id = parts_->index.find(token); id >= 0) return id;
  const auto& tokens = parts_->vocabulary.tokens;  // control tokens are not in the index
  const auto found = std::ranges::find(tokens, token);
  return found == tokens.end() ? -1 : static_cast<int>(found - tokens.begin());
}

const Vocabulary& Tokenizer::vocabulary() const { return parts_->vocabulary; }

}  // namespace shardwise
