// Cuts against Hugging Face's for some 340 awkward texts, against a table checked by hand, and on very long runs.
#include "shardwise/text/pretokenize.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace shardwise {
namespace {

std::vector<std::string> cuts(std::string_view pre, std::string_view text) {
  const auto rule = pretokenizer_rule(pre);
  EXPECT_TRUE(rule) << pre;
  const auto made = PreTokenizer::make(rule->patterns);
  EXPECT_TRUE(made) << pre;
  std::vector<std::string_view> pieces;
  made->split(text, pieces);
  return {pieces.begin(), pieces.end()};
}

using Texts = std::vector<std::string>;

TEST(PreTokenizer, B40_TextsAreCutAsByHuggingFace) {
  std::ifstream file(SHARDWISE_SOURCE_DIR "/tests/golden/tokens/splits.json");
  const auto golden = nlohmann::json::parse(file);
  const Texts texts = golden["texts"];
  ASSERT_GE(texts.size(), 200u);
  for (const auto& rule : golden["rules"]) {
    const std::string pre = rule["pre"];
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<size_t> found;
      for (const std::string& piece : cuts(pre, texts[i])) found.push_back(piece.size());
      EXPECT_EQ(found, rule["bytes"][i].get<std::vector<size_t>>())
          << pre << ": " << nlohmann::json(texts[i]).dump(-1, ' ', true);
    }
  }
}

TEST(PreTokenizer, CutsByHand) {
  EXPECT_EQ(cuts("gpt-2", "I'm 42 years,  ok\n"), (Texts{"I", "'m", " 42", " years", ",", " ", " ok", "\n"}));
  EXPECT_EQ(cuts("gpt-2", "DON'T"), (Texts{"DON", "'", "T"}));
  EXPECT_EQ(cuts("smollm", "in 1234"), (Texts{"in", " ", "1", "2", "3", "4"}));
  EXPECT_EQ(cuts("llama-bpe", "DON'T 12345\n\nx"), (Texts{"DON", "'T", " ", "123", "45", "\n\n", "x"}));
  EXPECT_EQ(cuts("qwen2", "x=12;\n y"), (Texts{"x", "=", "1", "2", ";\n", " y"}));
  EXPECT_EQ(cuts("gpt-4o", "HTTPServer's a/\n"), (Texts{"HTTPServer's", " a", "/\n"}));
  EXPECT_EQ(cuts("tekken", "HTTPServer's 12"), (Texts{"HTTPServer", "'s", " ", "1", "2"}));
  EXPECT_EQ(cuts("default", "a--b 12345 $"), (Texts{"a", "--", "b", " ", "123", "45", " ", "$"}));
  EXPECT_EQ(cuts("falcon", "a`b 12345"), (Texts{"a", "`", "b", " ", "123", "45"}));
  EXPECT_EQ(cuts("deepseek-v3", "1234.foo \u6f22\u5b57x"), (Texts{"123", "4", ".foo", " ", "\u6f22\u5b57", "x"}));
}

TEST(PreTokenizer, B40_AnUnknownNameIsRefusedAndTheKnownOnesAreListed) {
  const auto rule = pretokenizer_rule("gpt-5000");
  ASSERT_FALSE(rule);
  EXPECT_NE(rule.error().what.find("'gpt-5000'"), std::string::npos);
  for (const char* name : {"default", "gpt-2", "smollm", "qwen2", "llama-bpe", "tekken"}) {
    EXPECT_NE(rule.error().what.find(name), std::string::npos) << name;
  }
}

TEST(PreTokenizer, EveryNamedRuleCompilesAndNamesAreUnique) {
  std::set<std::string_view> seen;
  for (const std::string_view name : pretokenizer_names()) {
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_EQ(cuts(name, "ab"), Texts{"ab"}) << name;
  }
}

TEST(PreTokenizer, PiecesTogetherAreTheTextWhateverItsBytes) {
  const Texts texts = {"", "\xFF", "a\xC3", "\xE6\xAD x", "ok \x80\x80 12", "\xED\xA0\x80!", "a\u180Eb\U00031350\xFF"};
  for (const std::string_view name : pretokenizer_names()) {
    for (const std::string& text : texts) {
      std::string joined;
      for (const std::string& piece : cuts(name, text)) joined += piece;
      EXPECT_EQ(joined, text) << name;
    }
  }
}

TEST(PreTokenizer, ABadPatternIsRefusedWithItsPlace) {
  const std::string_view patterns[] = {"a(b"};
  const auto made = PreTokenizer::make(patterns);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("a(b"), std::string::npos);
}

TEST(PreTokenizer, B32_APatternThatExplodesGivesUpAndLosesNothing) {
  const std::string_view patterns[] = {R"((?:a|aa|aaa)+$)"};
  const auto made = PreTokenizer::make(patterns);
  const std::string text = std::string(5000, 'a') + "b";
  std::vector<std::string_view> pieces;
  made->split(text, pieces);
  std::string joined;
  for (const std::string_view piece : pieces) joined += piece;
  EXPECT_EQ(joined, text);
}

TEST(PreTokenizer, AnEmptyMatchCutsAtItsPlace) {
  const auto cut = [](std::string_view pattern, std::string_view text) {
    std::vector<std::string_view> pieces;
    PreTokenizer::make(std::span(&pattern, 1))->split(text, pieces);
    return Texts(pieces.begin(), pieces.end());
  };
  EXPECT_EQ(cut(R"((?=(\d{3})+(?!\d)))", "\u6f221234567"), (Texts{"\u6f221", "234", "567"}));
  EXPECT_EQ(cut("x*", "a\u6f22xx"), (Texts{"a", "\u6f22", "xx"}));
  EXPECT_EQ(cut("y", "a\u6f22xx"), (Texts{"a\u6f22xx"}));
}

}  // namespace
}  // namespace shardwise
