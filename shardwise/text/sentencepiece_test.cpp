// Merging by score against its definition; spaces, bytes and the unknown.
#include "shardwise/text/sentencepiece.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "shardwise/text/test_vocabularies.h"
#include "shardwise/text/tokenizer.h"
#include "shardwise/text/utf8.h"

namespace shardwise {
namespace {

using Ids = std::vector<int>;

const std::vector<std::pair<std::string, float>> kPieces = {
    {"\u2581", -20},      {"a", -21},  {"b", -22},     {"c", -23},     {"ab", -1}, {"bc", -2},
    {"\u2581a", -3},      {"abc", -4}, {"aa", -5},     {"aaaa", -5},   {"ca", -6}, {"aab", -7},
    {"\u2581\u2581", -8}, {"cab", -2}, {"\u00e9", -9}, {"\u00e9a", -1}};

Tokenizer made(Vocabulary vocabulary) {
  auto tokenizer = Tokenizer::make(std::move(vocabulary));
  EXPECT_TRUE(tokenizer) << tokenizer.error().what;
  return *std::move(tokenizer);
}

std::vector<std::string> pieces_of(const Tokenizer& t, std::string_view text, bool parse_special = false) {
  std::vector<std::string> out;
  for (const int id : t.encode(text, parse_special)) out.push_back(t.vocabulary().tokens[id]);
  return out;
}

using Texts = std::vector<std::string>;

TEST(SentencePiece, B40_ASpaceGoesBeforeTextAndBeforeWhatFollowsASpecialToken) {
  Vocabulary vocabulary = piece_vocabulary(kPieces);
  const Tokenizer legacy = made(vocabulary);
  EXPECT_EQ(pieces_of(legacy, ""), Texts{});
  EXPECT_EQ(pieces_of(legacy, " "), (Texts{"\u2581\u2581"}));
  EXPECT_EQ(pieces_of(legacy, "a"), (Texts{"\u2581a"}));
  EXPECT_EQ(pieces_of(legacy, "<s>a</s> a", true), (Texts{"<s>", "\u2581a", "</s>", "\u2581", "\u2581a"}));
  vocabulary.space_prefix_after_special = false;
  EXPECT_EQ(pieces_of(made(vocabulary), "a<s>a</s> a", true), (Texts{"\u2581a", "<s>", "a", "</s>", "\u2581a"}));
  EXPECT_EQ(pieces_of(made(vocabulary), "<s>a", true), (Texts{"<s>", "a"}));
  vocabulary.space_prefix_unless_present = true;
  EXPECT_EQ(pieces_of(made(vocabulary), " a"), (Texts{"\u2581a"}));
  vocabulary.add_space_prefix = false;
  EXPECT_EQ(pieces_of(made(vocabulary), "a a"), (Texts{"a", "\u2581a"}));
}

TEST(SentencePiece, WhatNoTokenSpellsFallsBackToBytes) {
  const Tokenizer t = made(piece_vocabulary(kPieces));
  EXPECT_EQ(pieces_of(t, "a\n\u6f22"), (Texts{"\u2581a", "<0x0A>", "<0xE6>", "<0xBC>", "<0xA2>"}));
  EXPECT_EQ(t.decode(t.encode("a\n\u6f22 \xFF", false)), "a\n\u6f22 \xFF");
  EXPECT_EQ(pieces_of(t, "<0x41>").size(), 7u);  // the text is not the byte
  Vocabulary without = piece_vocabulary(kPieces);
  for (int byte = 0; byte < 256; ++byte) without.tokens[3 + byte] = "unused" + std::to_string(byte);
  EXPECT_EQ(pieces_of(made(without), "a\u6f22"), (Texts{"\u2581a", "<unk>"}));
}

TEST(SentencePiece, DecodingTakesTheAddedSpaceAway) {
  const Tokenizer t = made(piece_vocabulary(kPieces));
  for (const char* text : {"a", " a", "  a", "", " ", "\n", "abc cab", "\u6f22", "a ", "<s>a</s> b<s>  c"}) {
    EXPECT_EQ(t.decode(t.encode(text, true), true), text);
  }
}

// Scans for the best pair, joins it, begins again.
Ids slow_encode(const Tokenizer& t, std::string_view marked) {
  std::vector<std::string> symbols;
  for (; !marked.empty(); marked.remove_prefix(symbols.back().size())) {
    symbols.emplace_back(marked.substr(0, utf8_step(marked).length));
  }
  for (;;) {
    int best = -1;
    float score = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const int id = t.id_of(symbols[i] + symbols[i + 1]);
      if (id < 0 || (best >= 0 && t.vocabulary().scores[id] <= score)) continue;
      best = static_cast<int>(i);
      score = t.vocabulary().scores[id];
    }
    if (best < 0) break;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + best + 1);
  }
  Ids ids;
  for (const std::string& symbol : symbols) ids.push_back(t.id_of(symbol));
  return ids;
}

RC_GTEST_PROP(SentencePiece, MergesAsTheDefinitionSays, ()) {
  static const Tokenizer t = made(piece_vocabulary(kPieces));
  std::string text, marked(kSpaceMark);
  for (const int letter : *rc::gen::container<Ids>(rc::gen::inRange(0, 5))) {
    const char* letters[] = {"a", "b", "c", "\u00e9", " "};
    text += letters[letter];
    marked += letter == 4 ? kSpaceMark : std::string_view(letters[letter]);
  }
  RC_ASSERT(t.encode(text, false) == (text.empty() ? Ids{} : slow_encode(t, marked)));
  RC_ASSERT(t.decode(t.encode(text, false)) == text);
}

TEST(SentencePiece, MergesByRankWhereTheFileListsThem) {
  Vocabulary vocabulary = piece_vocabulary(kPieces);
  vocabulary.scores.clear();
  vocabulary.merges = {"b c", "a b", "\u2581 a", "ab c"};  // unlike by score: "bc" goes first
  EXPECT_EQ(pieces_of(made(vocabulary), "abc"), (Texts{"\u2581a", "bc"}));
  EXPECT_EQ(pieces_of(made(vocabulary), "a\u6f22"), (Texts{"\u2581a", "<0xE6>", "<0xBC>", "<0xA2>"}));
  vocabulary.merges = {"\u2581 \u2581", "a \u2581"};
  vocabulary.tokens.push_back("a\u2581");
  vocabulary.types.push_back(TokenType::Normal);
  EXPECT_EQ(pieces_of(made(vocabulary), "a a"), (Texts{"\u2581", "a\u2581", "a"}));
  vocabulary.split_on_space = true;
  EXPECT_EQ(pieces_of(made(vocabulary), "a  a"), (Texts{"\u2581", "a", "\u2581", "\u2581", "a"}));
}

}  // namespace
}  // namespace shardwise
