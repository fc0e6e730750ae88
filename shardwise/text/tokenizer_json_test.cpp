// Hugging Face files in small: what each part means, and that what is not understood is refused by name.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "shardwise/text/byte_level.h"
#include "shardwise/text/sentencepiece.h"
#include "shardwise/text/tokenizer.h"

namespace shardwise {
namespace {

using Ids = std::vector<int>;
using Json = nlohmann::json;

Json byte_level_json() {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocab[std::string(spelling_of_byte(static_cast<unsigned char>(byte)))] = byte;
  }
  vocab["he"] = 256;
  vocab["\u0120w"] = 257;
  return {{"added_tokens",
           {{{"id", 258}, {"content", "<|begin|>"}, {"special", true}},
            {{"id", 259}, {"content", "<|im_end|>"}, {"special", true}, {"rstrip", true}},
            {{"id", 260}, {"content", "<tool_call>"}, {"special", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Split"}, {"pattern", {{"Regex", "\\p{N}{1,3}"}}}, {"behavior", "Isolated"}, {"invert", false}},
              {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}}}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", {{{"SpecialToken", {{"id", "<|begin|>"}}}}, {{"Sequence", {{"id", "A"}}}}}}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"h e", Json::array({"\u0120", "w"})}}}}};
}

const Json kConfig = {{"bos_token", "<|begin|>"}, {"eos_token", {{"content", "<|im_end|>"}}}};

Json piece_json() {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = byte + 3;
  for (const char* text : {"\u2581", "a", "b", "\u2581a", "ab"}) vocab[text] = static_cast<int>(vocab.size());
  return {{"added_tokens",
           {{{"id", 0}, {"content", "<unk>"}, {"special", true}},
            {{"id", 1}, {"content", "<s>"}, {"special", true}},
            {{"id", 2}, {"content", "</s>"}, {"special", true}}}},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", "\u2581"}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
          {"pre_tokenizer", nullptr},
          {"model", {{"type", "BPE"}, {"byte_fallback", true}, {"vocab", vocab}, {"merges", {"a b", "\u2581 a"}}}}};
}

Result<Vocabulary> read(const Json& tokenizer, const Json& config = kConfig, const Json& generation = nullptr) {
  return vocabulary_from_tokenizer_json(tokenizer.dump(), config.is_null() ? "" : config.dump(),
                                        generation.is_null() ? "" : generation.dump());
}

Tokenizer made(const Result<Vocabulary>& vocabulary) {
  EXPECT_TRUE(vocabulary) << vocabulary.error().what;
  auto tokenizer = Tokenizer::make(*vocabulary);
  EXPECT_TRUE(tokenizer) << tokenizer.error().what;
  return *std::move(tokenizer);
}

TEST(TokenizerJson, ByteLevelBpe) {
  const Tokenizer t = made(read(byte_level_json()));
  EXPECT_EQ(t.encode("he we 1234", false), (Ids{256, 257, 'e', ' ', '1', '2', '3', '4'}));
  EXPECT_EQ(t.encode("he<|im_end|>  x<tool_call>", true), (Ids{256, 259, 'x', 260}));
  EXPECT_EQ(t.with_ends({5}), (Ids{258, 5}));  // as the post-processor says
  EXPECT_TRUE(t.is_special(258));
  EXPECT_FALSE(t.is_special(260));
  EXPECT_TRUE(t.is_stop(259));
  Json config = kConfig;
  config["add_bos_token"] = false;
  EXPECT_EQ(made(read(byte_level_json(), config)).with_ends({5}), (Ids{5}));
  const Tokenizer more = made(read(byte_level_json(), nullptr, {{"eos_token_id", {259, 7}}}));
  EXPECT_TRUE(more.is_stop(7));
  EXPECT_EQ(more.eos(), 259);
}

TEST(TokenizerJson, B40_SentencePieceWithItsPrefixRules) {
  const Json config = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"add_bos_token", true}};
  Json json = piece_json();
  const Tokenizer legacy = made(read(json, config));
  const auto texts = [](const Tokenizer& t, std::string_view text) {
    std::string out;
    for (const int id : t.encode(text, true)) (out += out.empty() ? "" : " ") += t.vocabulary().tokens[id];
    return out;
  };
  EXPECT_EQ(texts(legacy, "a<s>ab"), "\u2581a <s> \u2581 ab");  // "a b" ranks first
  EXPECT_EQ(texts(legacy, " a"), "\u2581 \u2581a");
  EXPECT_EQ(legacy.with_ends({9}), (Ids{1, 9}));
  json["normalizer"] = nullptr;
  json["pre_tokenizer"] = {
      {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", false}};
  EXPECT_EQ(texts(made(read(json, config)), "a<s>a"), "\u2581a <s> a");
  EXPECT_EQ(texts(made(read(json, config)), " a"), "\u2581a");
  json["pre_tokenizer"]["prepend_scheme"] = "never";
  EXPECT_EQ(texts(made(read(json, config)), "a a"), "a \u2581a");
  // Spaces marked by the normalizer, none added: a Split at spaces finds nothing to do.
  json["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  json["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
  EXPECT_EQ(texts(made(read(json, config)), "a a\n"), "a \u2581a <0x0A>");
}

TEST(TokenizerJson, B40_IdsEqualHuggingFaceForEachFormOfFile) {
  std::ifstream file(SHARDWISE_SOURCE_DIR "/tests/golden/tokens/folders.json");
  const auto golden = Json::parse(file);
  const std::vector<std::string> texts = golden["texts"];
  ASSERT_GE(texts.size(), 200u);
  for (const auto& folder : golden["folders"]) {
    const Tokenizer t = made(read(folder["tokenizer"]));
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(t.encode(texts[i], true), folder["ids"][i].get<Ids>())
          << folder["name"] << ": " << Json(texts[i]).dump(-1, ' ', true);
    }
  }
}

std::string refusal(const Json& tokenizer, const Json& config = kConfig) {
  const auto vocabulary = read(tokenizer, config);
  return vocabulary ? "accepted" : vocabulary.error().what;
}

TEST(TokenizerJson, WhatIsNotUnderstoodIsRefusedByName) {
  const auto with = [](const char* pointer, const Json& value) {
    Json json = byte_level_json();
    json[Json::json_pointer(pointer)] = value;
    return refusal(json);
  };
  const auto names = [](const std::string& what, const char* word) { return what.find(word) != std::string::npos; };
  EXPECT_TRUE(names(with("/model/type", "WordPiece"), "'WordPiece'"));
  EXPECT_TRUE(names(with("/model/type", "Unigram"), "'Unigram'"));
  EXPECT_TRUE(names(with("/model/end_of_word_suffix", "</w>"), "</w>"));
  EXPECT_TRUE(names(with("/model/vocab", Json::array()), "model.vocab"));
  EXPECT_TRUE(names(with("/model/vocab/he", 2000000000), "2000000000"));
  EXPECT_TRUE(names(with("/model/vocab/he", -1), "-1"));
  EXPECT_TRUE(names(with("/model/vocab/he", "x"), "he"));
  EXPECT_TRUE(names(with("/model/merges/0", 5), "merges"));
  EXPECT_TRUE(names(with("/added_tokens/0/id", 1e12), "added_tokens"));
  EXPECT_TRUE(names(with("/added_tokens/0/single_word", true), "single_word"));
  EXPECT_TRUE(names(with("/normalizer", {{"type", "Lowercase"}}), "'Lowercase'"));
  EXPECT_TRUE(names(with("/pre_tokenizer/pretokenizers/0", {{"type", "BertPreTokenizer"}}), "BertPreTokenizer"));
  EXPECT_TRUE(names(with("/pre_tokenizer/pretokenizers/0/behavior", "MergedWithNext"), "MergedWithNext"));
  EXPECT_TRUE(names(with("/pre_tokenizer/pretokenizers/0/pattern/Regex", "[a&&[b]]"), "[a&&[b]]"));
  EXPECT_TRUE(names(with("/pre_tokenizer/pretokenizers/1/add_prefix_space", true), "add_prefix_space"));
  EXPECT_TRUE(names(with("/pre_tokenizer", nullptr), "byte_fallback"));
  Json pieces = piece_json();
  pieces["pre_tokenizer"] = {{"type", "Whitespace"}};
  EXPECT_TRUE(names(refusal(pieces), "Whitespace"));
  pieces["pre_tokenizer"] = nullptr;
  pieces["normalizer"] = nullptr;
  EXPECT_TRUE(names(refusal(pieces), "U+2581"));
}

TEST(TokenizerJson, TextThatIsNoSuchFileIsRefused) {
  for (const char* text :
       {"", "{", "[]", "5", "null", "{}", "{\"model\": 5}", "{\"model\": {\"type\": \"BPE\"}}", "\xFF"}) {
    EXPECT_FALSE(vocabulary_from_tokenizer_json(text, "")) << text;
  }
  EXPECT_FALSE(vocabulary_from_tokenizer_json(byte_level_json().dump(), "["));
  const std::string deep(100000, '[');
  EXPECT_FALSE(vocabulary_from_tokenizer_json(deep, ""));
  EXPECT_FALSE(vocabulary_from_tokenizer_json("{\"model\": " + deep + std::string(100000, ']') + "}", ""));
}

TEST(TokenizerJson, UnicodeNormalisationIsMarked) {
  Json json = byte_level_json();
  EXPECT_FALSE(read(json)->needs_nfc);
  json["normalizer"] = {{"type", "NFC"}};
  EXPECT_TRUE(read(json)->needs_nfc);
}

}  // namespace
}  // namespace shardwise
