// The table of named pre-tokenizers. A pattern is the one in the tokenizer.json of the family's first model.
#include <algorithm>
#include <array>

#include "shardwise/text/pretokenize.h"

namespace shardwise {
namespace {

using namespace std::string_view_literals;

constexpr auto kDigit = R"(\p{N})"sv;
constexpr auto kDigits = R"(\p{N}+)"sv;
constexpr auto kThreeDigits = R"(\p{N}{1,3})"sv;
constexpr auto kThreeAscii = "[0-9][0-9][0-9]"sv;
constexpr auto kPunctuation = R"([\p{P}$+<=>^~|]+)"sv;
constexpr auto kFalconPunctuation = R"([\p{P}$+<=>^~|`]+)"sv;
constexpr auto kKanaAndHan = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"sv;
constexpr auto kHanAndHangul = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"sv;
constexpr auto kNewline = R"([\r\n])"sv;
constexpr auto kSpacedLetters = R"(\s?\p{L}+)"sv;
constexpr auto kSpacedPunctuation = R"(\s?\p{P}+)"sv;

// GPT-2 knows contractions in lower case, later families in any.
constexpr auto kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"sv;
constexpr auto kLlama3 =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kQwen2 = R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                        R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kQwen35 =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kSeedCoder =
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kGpt4o = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                        R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?)"
                        R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                        R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}{1,3})"
                        R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kTekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                         R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N})"
                         R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kDeepSeek3 = R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
                            R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;

constexpr std::array kGpt2Rule = {kGpt2};
constexpr std::array kSingleDigitRule = {kDigit, kGpt2};
constexpr std::array kLlama3Rule = {kLlama3};
constexpr std::array kQwen2Rule = {kQwen2};
constexpr std::array kQwen35Rule = {kQwen35};
constexpr std::array kSeedCoderRule = {kSeedCoder};
constexpr std::array kGpt4oRule = {kGpt4o};
constexpr std::array kTekkenRule = {kTekken};
constexpr std::array kDefaultRule = {kPunctuation, kGpt2, kDigits, kThreeAscii};
constexpr std::array kFalconRule = {kFalconPunctuation, kGpt2, kThreeAscii};
constexpr std::array kDeepSeek3Rule = {kThreeDigits, kKanaAndHan, kDeepSeek3};
constexpr std::array kDeepSeekCoderRule = {kNewline, kSpacedLetters, kSpacedPunctuation, kHanAndHangul, kDigit};

// name, patterns, ignore_merges, add_bos
const PreTokenizerRule kRules[] = {
    {"default", kDefaultRule},
    {"gpt-2", kGpt2Rule},
    {"phi-2", kGpt2Rule},
    {"mpt", kGpt2Rule},
    {"olmo", kGpt2Rule},
    {"jais", kGpt2Rule},
    {"gigachat", kGpt2Rule},
    {"mellum", kGpt2Rule},
    {"a.x-4.0", kGpt2Rule},
    {"exaone4", kGpt2Rule},
    {"trillion", kGpt2Rule},
    {"granite-docling", kGpt2Rule},
    {"smollm", kSingleDigitRule},
    {"starcoder", kSingleDigitRule},
    {"refact", kSingleDigitRule},
    {"command-r", kSingleDigitRule},
    {"codeshell", kSingleDigitRule},
    {"exaone", kSingleDigitRule},
    {"minerva-7b", kSingleDigitRule},
    {"mellum2", kSingleDigitRule},
    {"llama-bpe", kLlama3Rule, true, true},
    {"llama3", kLlama3Rule, true, true},
    {"llama-v3", kLlama3Rule, true, true},
    {"falcon3", kLlama3Rule, true, true},
    {"falcon-h1", kLlama3Rule, true, true},
    {"pixtral", kLlama3Rule, true, true},
    {"midm-2.0", kLlama3Rule, true, true},
    {"lfm2", kLlama3Rule, true, true},
    {"dbrx", kLlama3Rule},
    {"smaug-bpe", kLlama3Rule},
    {"glm4", kLlama3Rule},
    {"chatglm-bpe", kLlama3Rule},
    {"qwen2", kQwen2Rule},
    {"deepseek-r1-qwen", kQwen2Rule},
    {"stablelm2", kQwen2Rule},
    {"megrez", kQwen2Rule},
    {"hunyuan", kQwen2Rule},
    {"solar-open", kQwen2Rule},
    {"grok-2", kQwen2Rule},
    {"kormo", kQwen2Rule},
    {"qwen35", kQwen35Rule},
    {"seed-coder", kSeedCoderRule},
    {"gpt-4o", kGpt4oRule},
    {"llama4", kGpt4oRule},
    {"kanana2", kGpt4oRule},
    {"minimax-m2", kGpt4oRule},
    {"tekken", kTekkenRule, true, true},
    {"falcon", kFalconRule},
    {"deepseek-v3", kDeepSeek3Rule},
    {"hunyuan-dense", kDeepSeek3Rule},
    {"deepseek-coder", kDeepSeekCoderRule},
};

}  // namespace

Result<PreTokenizerRule> pretokenizer_rule(std::string_view name) {
  if (name.empty()) name = "default";
  const auto found = std::ranges::find(kRules, name, &PreTokenizerRule::name);
  if (found != std::end(kRules)) return *found;
  std::string known;
  for (const std::string_view each : pretokenizer_names()) (known += known.empty() ? "" : ", ") += each;
  return fail(
      "tokenizer.ggml.pre: pre-tokenizer '{}' is not known, expected one of: {}; another would give other tokens "
      "than the model was trained on",
      name, known);
}

std::vector<std::string_view> pretokenizer_names() {
  std::vector<std::string_view> names;
  for (const PreTokenizerRule& rule : kRules) names.push_back(rule.name);
  return names;
}

}  // namespace shardwise
