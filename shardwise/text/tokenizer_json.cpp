// Reads the tokenizer of a Hugging Face folder. What is not understood is refused by name: a tokenizer that is nearly
// right gives ids that the model was not trained on, and no error later.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "shardwise/text/pretokenize.h"
#include "shardwise/text/sentencepiece.h"
#include "shardwise/text/vocabulary.h"

namespace shardwise {
namespace {

using Json = nlohmann::json;

Result<Json> parsed(std::string_view text, std::string_view file) {
  if (text.empty()) return Json::object();
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail("{}: is not a JSON object", file);
  return json;
}

// A member, or null: also of what is not an object.
const Json& member(const Json& json, const char* key) {
  static const Json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

std::string text_of(const Json& json, const char* key) {
  const Json& found = member(json, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::optional<bool> flag_of(const Json& json, const char* key) {
  const Json& found = member(json, key);
  return found.is_boolean() ? std::optional(found.get<bool>()) : std::nullopt;
}

std::optional<int> id_of(const Json& json) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > INT32_MAX) return std::nullopt;
  return json.get<int>();
}

// The parts of a "Sequence", or the one part itself; none of null.
std::vector<const Json*> steps(const Json& json, const char* list) {
  if (json.is_null()) return {};
  if (text_of(json, "type") != "Sequence") return {&json};
  std::vector<const Json*> found;
  for (const Json& step : member(json, list)) found.push_back(&step);
  return found;
}

class Reader {
 public:
  Reader(const Json& tokenizer, const Json& config, const Json& generation)
      : tokenizer_(tokenizer), config_(config), generation_(generation), model_(member(tokenizer, "model")) {}

  Result<Vocabulary> read() {
    using Step = Status (Reader::*)();
    for (const Step step : {&Reader::read_model, &Reader::read_tokens, &Reader::read_merges, &Reader::read_normalizer,
                            &Reader::read_pretokenizer, &Reader::read_ends}) {
      if (const Status status = (this->*step)(); !status) return status.error();
    }
    return std::move(made_);
  }

 private:
  Status read_model();
  Status read_tokens();
  Status read_added_tokens();
  Status read_merges();
  Status read_normalizer();
  Status read_pretokenizer();
  Status read_byte_level_step(const Json& step, bool after_bytes);
  Status read_sentencepiece_step(const Json& step);
  Status read_ends();
  int token_of(const char* role) const;
  void read_template();

  const Json &tokenizer_, &config_, &generation_, &model_;
  Vocabulary made_;
  bool spaces_marked_ = false;  // the normalizer has left no space
};

bool has_byte_level(const Json& tokenizer) {
  for (const Json* step : steps(member(tokenizer, "pre_tokenizer"), "pretokenizers")) {
    if (text_of(*step, "type") == "ByteLevel") return true;
  }
  return false;
}

Status Reader::read_model() {
  const std::string type = text_of(model_, "type");
  if (type != "BPE" && !(type.empty() && member(model_, "merges").is_array())) {
    return fail("tokenizer.json: model.type is '{}', expected BPE: convert the model to GGUF, or use one with BPE",
                type);
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!text_of(model_, key).empty()) {
      return fail("tokenizer.json: model.{} is '{}', which is not supported, expected none", key, text_of(model_, key));
    }
  }
  made_.kind = has_byte_level(tokenizer_) ? Vocabulary::Kind::ByteLevelBpe : Vocabulary::Kind::SentencePiece;
  if (made_.kind == Vocabulary::Kind::SentencePiece && !flag_of(model_, "byte_fallback").value_or(false)) {
    return fail("tokenizer.json: BPE with neither a ByteLevel pre-tokenizer nor byte_fallback, expected one of them");
  }
  made_.ignore_merges = flag_of(model_, "ignore_merges").value_or(false);
  made_.pre = "tokenizer.json";
  return {};
}

Status Reader::read_tokens() {
  const Json& vocab = member(model_, "vocab");
  if (!vocab.is_object() || vocab.empty()) return fail("tokenizer.json: model.vocab is not an object with tokens");
  const size_t most = 4 * (vocab.size() + member(tokenizer_, "added_tokens").size()) + 4096;  // ids may have gaps
  for (const auto& [text, json] : vocab.items()) {
    const auto id = id_of(json);
    if (!id || static_cast<size_t>(*id) >= most) {
      return fail("tokenizer.json: model.vocab['{}'] is {}, expected an id below {}", text, json.dump(), most);
    }
    if (made_.tokens.size() <= static_cast<size_t>(*id)) made_.tokens.resize(*id + 1);
    made_.tokens[*id] = text;
  }
  made_.types.assign(made_.tokens.size(), TokenType::Normal);
  for (size_t id = 0; id < made_.tokens.size(); ++id) {
    if (made_.tokens[id].empty()) made_.types[id] = TokenType::Unused;
    const bool byte = byte_of_spelling(made_.tokens[id]) >= 0;
    if (byte && made_.kind == Vocabulary::Kind::SentencePiece) made_.types[id] = TokenType::Byte;
  }
  return read_added_tokens();
}

Status Reader::read_added_tokens() {
  const size_t most = 4 * (made_.tokens.size() + member(tokenizer_, "added_tokens").size()) + 4096;
  for (const Json& added : member(tokenizer_, "added_tokens")) {
    const std::string text = text_of(added, "content");
    const auto id = id_of(member(added, "id"));
    if (text.empty() || !id || static_cast<size_t>(*id) >= most) {
      return fail("tokenizer.json: added_tokens has {}, expected content and an id below {}", added.dump(), most);
    }
    if (flag_of(added, "single_word").value_or(false)) {
      return fail("tokenizer.json: added token '{}' is single_word, which is not supported", text);
    }
    if (made_.tokens.size() <= static_cast<size_t>(*id)) {
      made_.tokens.resize(*id + 1);
      made_.types.resize(*id + 1, TokenType::Unused);
    }
    made_.tokens[*id] = text;
    made_.types[*id] = flag_of(added, "special").value_or(false) ? TokenType::Control : TokenType::UserDefined;
    if (flag_of(added, "lstrip").value_or(false)) made_.strip_left.push_back(*id);
    if (flag_of(added, "rstrip").value_or(false)) made_.strip_right.push_back(*id);
  }
  return {};
}

Status Reader::read_merges() {
  const Json& merges = member(model_, "merges");
  made_.merges.reserve(merges.size());
  for (const Json& merge : merges) {
    if (merge.is_string()) {
      made_.merges.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string() &&
               merge[0].get_ref<const std::string&>().find(' ', 1) == std::string::npos) {
      made_.merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    } else {
      return fail("tokenizer.json: model.merges has {}, expected \"left right\" or a pair", merge.dump());
    }
  }
  return {};
}

Status Reader::read_normalizer() {
  made_.add_space_prefix = false;
  for (const Json* step : steps(member(tokenizer_, "normalizer"), "normalizers")) {
    const std::string type = text_of(*step, "type");
    const bool pieces = made_.kind == Vocabulary::Kind::SentencePiece;
    if (type == "NFC") {
      made_.needs_nfc = true;
    } else if (pieces && type == "Prepend" && text_of(*step, "prepend") == kSpaceMark) {
      made_.add_space_prefix = true;
    } else if (pieces && type == "Replace" && text_of(member(*step, "pattern"), "String") == " " &&
               text_of(*step, "content") == kSpaceMark) {
      spaces_marked_ = true;
    } else {
      return fail("tokenizer.json: normalizer '{}' is not supported here, expected NFC, or the marking of spaces",
                  type);
    }
  }
  return {};
}

Status Reader::read_pretokenizer() {
  bool after_bytes = false;
  for (const Json* step : steps(member(tokenizer_, "pre_tokenizer"), "pretokenizers")) {
    const bool bytes = made_.kind == Vocabulary::Kind::ByteLevelBpe;
    const Status status = bytes ? read_byte_level_step(*step, after_bytes) : read_sentencepiece_step(*step);
    if (!status) return status;
    after_bytes |= text_of(*step, "type") == "ByteLevel";
  }
  if (made_.kind == Vocabulary::Kind::SentencePiece && !spaces_marked_) {
    return fail("tokenizer.json: nothing marks spaces as U+2581, expected a Replace normalizer or Metaspace");
  }
  return {};
}

Status Reader::read_byte_level_step(const Json& step, bool after_bytes) {
  const std::string type = text_of(step, "type");
  const auto cut = [&](std::string_view pattern) { made_.pre_patterns.emplace_back(pattern); };
  if (after_bytes) return fail("tokenizer.json: pre-tokenizer '{}' behind ByteLevel is not supported", type);
  if (type == "ByteLevel") {
    if (flag_of(step, "add_prefix_space").value_or(true)) {
      return fail("tokenizer.json: ByteLevel with add_prefix_space is not supported, expected false");
    }
    const auto gpt2 = pretokenizer_rule("gpt-2");
    if (flag_of(step, "use_regex").value_or(true)) cut(gpt2->patterns[0]);
    if (made_.pre_patterns.empty()) cut(R"((?s:.+))");  // no cutting at all: one piece
    return {};
  }
  if (type == "Digits") {
    cut(flag_of(step, "individual_digits").value_or(false) ? R"(\p{N})" : R"(\p{N}+)");
    return {};
  }
  const std::string behavior = text_of(step, "behavior");
  if (type == "Punctuation" && (behavior == "Isolated" || behavior == "Contiguous" || behavior.empty())) {
    cut(behavior == "Contiguous" ? R"([\p{P}$+<=>^`|~]+)" : R"([\p{P}$+<=>^`|~])");
    return {};
  }
  const std::string pattern = text_of(member(step, "pattern"), "Regex");
  const bool inverted = flag_of(step, "invert").value_or(false);
  // Removed and inverted: the matches stay. Patterns written so cover all text, which makes it Isolated.
  if (type == "Split" && !pattern.empty() && behavior == (inverted ? "Removed" : "Isolated")) {
    if (pattern.find("&&") != pattern.npos) {  // would mean something else in PCRE2, silently
      return fail("tokenizer.json: pre-tokenizer pattern '{}' intersects classes, which is not supported", pattern);
    }
    cut(pattern);
    return {};
  }
  return fail(
      "tokenizer.json: pre-tokenizer {} is not supported, expected Split (Regex, Isolated), Digits, Punctuation "
      "and ByteLevel",
      step.dump());
}

Status Reader::read_sentencepiece_step(const Json& step) {
  const std::string type = text_of(step, "type");
  if (type == "Split" && spaces_marked_ && text_of(member(step, "pattern"), "String") == " ") return {};  // finds none
  if (type != "Metaspace" || text_of(step, "replacement") != kSpaceMark) {
    return fail("tokenizer.json: pre-tokenizer {} is not supported with byte_fallback, expected Metaspace or none",
                step.dump());
  }
  std::string scheme = text_of(step, "prepend_scheme");
  if (scheme.empty()) scheme = flag_of(step, "add_prefix_space").value_or(true) ? "always" : "never";
  spaces_marked_ = true;
  made_.add_space_prefix = made_.add_space_prefix.value_or(false) || scheme != "never";
  made_.space_prefix_after_special = scheme == "always";
  made_.space_prefix_unless_present = true;
  made_.split_on_space = flag_of(step, "split").value_or(true);
  return {};
}

int Reader::token_of(const char* role) const {
  const Json& named = member(config_, role);
  const std::string text = named.is_string() ? named.get<std::string>() : text_of(named, "content");
  if (text.empty()) return -1;
  const auto found = std::ranges::find(made_.tokens, text);
  return found == made_.tokens.end() ? -1 : static_cast<int>(found - made_.tokens.begin());
}

void Reader::read_template() {
  for (const Json* step : steps(member(tokenizer_, "post_processor"), "processors")) {
    const Json& single = member(*step, "single");
    if (text_of(*step, "type") != "TemplateProcessing" || !single.is_array() || single.empty()) continue;
    const auto is = [&](const Json& entry, int id) {
      return id >= 0 && text_of(member(entry, "SpecialToken"), "id") == made_.tokens[id];
    };
    if (!made_.add_bos) made_.add_bos = is(single.front(), made_.bos);
    if (!made_.add_eos) made_.add_eos = is(single.back(), made_.eos);
  }
}

Status Reader::read_ends() {
  made_.bos = token_of("bos_token");
  made_.eos = token_of("eos_token");
  made_.pad = token_of("pad_token");
  made_.unk = token_of("unk_token");
  const Json& ends = member(generation_, "eos_token_id");
  for (const Json& json : ends.is_array() ? ends : Json::array({ends})) {
    const auto id = id_of(json);
    if (id && static_cast<size_t>(*id) < made_.tokens.size()) made_.stop.push_back(*id);
  }
  if (made_.eos < 0 && !made_.stop.empty()) made_.eos = made_.stop.front();
  made_.add_bos = flag_of(config_, "add_bos_token");
  made_.add_eos = flag_of(config_, "add_eos_token");
  read_template();
  if (!made_.add_bos) made_.add_bos = false;
  return {};
}

}  // namespace

Result<Vocabulary> vocabulary_from_tokenizer_json(std::string_view tokenizer_json, std::string_view tokenizer_config,
                                                  std::string_view generation_config) {
  const auto tokenizer = parsed(tokenizer_json, "tokenizer.json");
  if (!tokenizer) return tokenizer.error();
  const auto config = parsed(tokenizer_config, "tokenizer_config.json");
  if (!config) return config.error();
  const auto generation = parsed(generation_config, "generation_config.json");
  if (!generation) return generation.error();
  return Reader(*tokenizer, *config, *generation).read();
}

}  // namespace shardwise
