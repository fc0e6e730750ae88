// The alphabet is two tables, made once from the rule in the header.
#include "shardwise/text/byte_level.h"

#include <array>
#include <cstdint>

#include "shardwise/text/utf8.h"

namespace shardwise {
namespace {

constexpr int kPoints = 256 + 68;  // 68 bytes do not spell themselves

struct Alphabet {
  std::array<std::string, 256> spelling;
  std::array<int16_t, kPoints> byte;  // by code point, -1: none

  Alphabet() {
    byte.fill(-1);
    int next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool itself = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      const int point = itself ? b : next++;
      byte[point] = static_cast<int16_t>(b);
      append_utf8(spelling[b], static_cast<char32_t>(point));
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet made;
  return made;
}

}  // namespace

std::string_view spelling_of_byte(unsigned char byte) { return alphabet().spelling[byte]; }

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  const Alphabet& letters = alphabet();
  std::string out;
  out.reserve(spelling.size());
  while (!spelling.empty()) {
    const Utf8Step step = utf8_step(spelling);
    if (step.kind != Utf8::Whole || step.point >= kPoints || letters.byte[step.point] < 0) return std::nullopt;
    out += static_cast<char>(letters.byte[step.point]);
    spelling.remove_prefix(step.length);
  }
  return out;
}

Result<ByteLevelEncoder> ByteLevelEncoder::make(const Vocabulary& vocabulary, const TokenIndex& index) {
  std::vector<std::string_view> patterns(vocabulary.pre_patterns.begin(), vocabulary.pre_patterns.end());
  bool ignore_merges = false;
  if (patterns.empty()) {
    const auto rule = pretokenizer_rule(vocabulary.pre);
    if (!rule) return rule.error();
    patterns.assign(rule->patterns.begin(), rule->patterns.end());
    ignore_merges = rule->ignore_merges;
  }
  auto pretokenizer = PreTokenizer::make(patterns);
  if (!pretokenizer) return pretokenizer.error();
  const int count = static_cast<int>(vocabulary.tokens.size());
  auto merges = MergeTable::make(vocabulary.merges, index, count);
  if (!merges) return merges.error();

  ByteLevelEncoder made(*std::move(pretokenizer), *std::move(merges));
  made.index_ = &index;
  made.token_count_ = count;
  made.ignore_merges_ = vocabulary.ignore_merges.value_or(ignore_merges);
  for (int byte = 0; byte < 256; ++byte) {
    made.byte_symbols_[byte] = made.merges_.symbol_of(spelling_of_byte(static_cast<unsigned char>(byte)), index);
  }
  return made;
}

void ByteLevelEncoder::encode(std::string_view text, std::vector<int>& ids) const {
  std::vector<std::string_view> pieces;
  pretokenizer_.split(text, pieces);
  Merger merger(merges_);
  std::vector<int> symbols;
  std::string spelling;
  for (const std::string_view piece : pieces) {
    if (ignore_merges_ && piece.size() <= index_->longest()) {
      spelling.clear();
      for (const char c : piece) spelling += spelling_of_byte(static_cast<unsigned char>(c));
      if (const int id = index_->find(spelling); id >= 0) {
        ids.push_back(id);
        continue;
      }
    }
    symbols.clear();
    for (const char c : piece) symbols.push_back(byte_symbols_[static_cast<unsigned char>(c)]);
    merger.merge(symbols);
    for (const int symbol : symbols) append_symbol(symbol, ids);
  }
}

void ByteLevelEncoder::append_symbol(int symbol, std::vector<int>& ids) const {
  if (symbol < token_count_) {
    ids.push_back(symbol);
    return;
  }
  for (std::string_view text = merges_.spare_text(symbol); !text.empty();) {  // back to its bytes
    const std::string_view character = text.substr(0, utf8_step(text).length);
    if (const int id = index_->find(character); id >= 0) ids.push_back(id);
    text.remove_prefix(character.size());
  }
}

}  // namespace shardwise
