// The same heap over a linked list as in bpe.cpp, but a pair joins because its text is a token, not because it is
// listed.
#include "shardwise/text/sentencepiece.h"

#include <algorithm>

#include "shardwise/text/utf8.h"

namespace shardwise {
namespace {

std::string marked_text(std::string_view text, bool prefixed) {
  std::string marked;
  marked.reserve(text.size() + text.size() / 2 + kSpaceMark.size());
  if (prefixed) marked += kSpaceMark;
  while (!text.empty()) {
    const size_t word = std::min(text.find(' '), text.size());
    marked += text.substr(0, word);
    text.remove_prefix(word);
    if (text.empty()) break;
    marked += kSpaceMark;
    text.remove_prefix(1);
  }
  return marked;
}

}  // namespace

int byte_of_spelling(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
  const int high = digit(text[3]), low = digit(text[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

Result<SentencePieceEncoder> SentencePieceEncoder::make(const Vocabulary& vocabulary, const TokenIndex& index) {
  SentencePieceEncoder encoder;
  encoder.vocabulary_ = &vocabulary;
  encoder.index_ = &index;
  encoder.byte_ids_.fill(-1);
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& text = vocabulary.tokens[id];
    if (const int byte = byte_of_spelling(text); byte >= 0) encoder.byte_ids_[byte] = static_cast<int>(id);
  }
  if (!vocabulary.merges.empty()) {
    auto table = MergeTable::make(vocabulary.merges, index, static_cast<int>(vocabulary.tokens.size()));
    if (!table) return table.error();
    encoder.merges_ = std::make_shared<const MergeTable>(*std::move(table));
  }
  return encoder;
}

void SentencePieceEncoder::encode(std::string_view text, bool prefixed, std::vector<int>& ids) const {
  if (text.empty()) return;  // a prefix alone is no text
  if (vocabulary_->space_prefix_unless_present && (text.front() == ' ' || text.starts_with(kSpaceMark))) {
    prefixed = false;
  }
  const std::string marked = marked_text(text, prefixed);
  if (!merges_) return merge_by_score(marked, ids);
  if (!vocabulary_->split_on_space) return merge_by_rank(marked, ids);
  const std::string_view all = marked;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find(kSpaceMark, begin + 1), all.size());
    merge_by_rank(all.substr(begin, end - begin), ids);
    begin = end;
  }
}

void SentencePieceEncoder::append_bytes(std::string_view bytes, std::vector<int>& ids) const {
  for (const char c : bytes) {
    const int id = byte_ids_[static_cast<unsigned char>(c)];
    if (id < 0) {  // no byte fallback for this: the character is unknown as a whole
      if (vocabulary_->unk >= 0) ids.push_back(vocabulary_->unk);
      return;
    }
    ids.push_back(id);
  }
}

void SentencePieceEncoder::merge_by_score(std::string_view marked, std::vector<int>& ids) const {
  std::vector<Symbol> symbols;
  symbols.reserve(marked.size());
  for (uint32_t begin = 0; begin < marked.size();) {
    const auto length = static_cast<uint32_t>(utf8_step(marked.substr(begin, 4)).length);
    const int at = static_cast<int>(symbols.size());
    symbols.push_back({begin, length, at - 1, at + 1, index_->find(marked.substr(begin, length))});
    begin += length;
  }
  symbols.back().next = -1;

  std::vector<Candidate> heap;
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.at > b.at;
  };
  const auto consider = [&](int at) {
    const Symbol &left = symbols[at], &right = symbols[left.next];
    const uint32_t length = left.length + right.length;
    const int id = index_->find(marked.substr(left.begin, length));
    if (id < 0) return false;
    heap.push_back({vocabulary_->scores[id], at, id, length});
    return true;
  };
  for (int at = 0; symbols[at].next >= 0; ++at) consider(at);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    const Candidate best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    Symbol& left = symbols[best.at];
    // Symbols only grow: equal length means that neither side has joined another meanwhile.
    if (left.length == 0 || left.next < 0 || left.length + symbols[left.next].length != best.length) continue;
    Symbol& right = symbols[left.next];
    left.length = best.length;
    left.id = best.id;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) symbols[left.next].previous = best.at;
    if (left.previous >= 0 && consider(left.previous)) std::push_heap(heap.begin(), heap.end(), later);
    if (left.next >= 0 && consider(best.at)) std::push_heap(heap.begin(), heap.end(), later);
  }
  for (int at = 0; at >= 0; at = symbols[at].next) {
    const Symbol& symbol = symbols[at];
    if (symbol.id >= 0) {
      ids.push_back(symbol.id);
    } else {
      append_bytes(marked.substr(symbol.begin, symbol.length), ids);
    }
  }
}

void SentencePieceEncoder::merge_by_rank(std::string_view marked, std::vector<int>& ids) const {
  std::vector<int> symbols;
  while (!marked.empty()) {
    const std::string_view character = marked.substr(0, utf8_step(marked).length);
    if (const int id = index_->find(character); id >= 0) {
      symbols.push_back(id);
    } else {
      append_bytes(character, symbols);
    }
    marked.remove_prefix(character.size());
  }
  Merger(*merges_).merge(symbols);
  const int count = static_cast<int>(vocabulary_->tokens.size());
  for (const int symbol : symbols) {
    if (symbol < count) {
      ids.push_back(symbol);
    } else {
      append_bytes(merges_->spare_text(symbol), ids);
    }
  }
}

}  // namespace shardwise
