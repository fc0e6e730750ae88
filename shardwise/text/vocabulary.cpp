// What follows from a vocabulary's plain data: whether it fits together, and what ends a generation.
#include "shardwise/text/vocabulary.h"

#include <algorithm>
#include <array>

namespace shardwise {
namespace {

using namespace std::string_view_literals;

// Control tokens that end a turn in one family or another, where the file names only one of them as eos.
constexpr std::array kEnds = {
    "<|eot_id|>"sv,
    "<|eom_id|>"sv,
    "<|im_end|>"sv,
    "<|end|>"sv,
    "<|return|>"sv,
    "<|call|>"sv,
    "<|endoftext|>"sv,
    "</s>"sv,
    "<eos>"sv,
    "<end_of_turn>"sv,
    "<turn|>"sv,
    "<|end_of_text|>"sv,
    "<EOT>"sv,
    "[EOT]"sv,
    "<end_of_utterance>"sv,
    "<|fim_pad|>"sv,
    "<|repo_name|>"sv,
    "<|file_sep|>"sv,
    "<｜end▁of▁sentence｜>"sv,
};

}  // namespace

Result<Vocabulary::Kind> vocabulary_kind(std::string_view tokenizer_model) {
  if (tokenizer_model == "gpt2") return Vocabulary::Kind::ByteLevelBpe;
  if (tokenizer_model == "llama") return Vocabulary::Kind::SentencePiece;
  return fail("tokenizer.ggml.model: '{}' is not supported, expected gpt2 (byte-level BPE) or llama (SentencePiece)",
              tokenizer_model);
}

std::vector<int> stop_tokens(const Vocabulary& vocabulary) {
  std::vector<int> stops = vocabulary.stop;
  for (const int id : {vocabulary.eos, vocabulary.eot}) {
    if (id >= 0) stops.push_back(id);
  }
  int end = -1;
  bool has_return = false, has_call = false;
  for (size_t id = 0; id < vocabulary.types.size(); ++id) {
    if (vocabulary.types[id] != TokenType::Control) continue;
    const std::string& text = vocabulary.tokens[id];
    if (std::ranges::find(kEnds, text) != kEnds.end()) stops.push_back(static_cast<int>(id));
    if (text == "<|end|>") end = static_cast<int>(id);
    has_return |= text == "<|return|>";
    has_call |= text == "<|call|>";
  }
  // In the format that has all three, "<|end|>" closes a message inside the answer.
  if (has_return && has_call && end != vocabulary.eos) std::erase(stops, end);
  std::ranges::sort(stops);
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  return stops;
}

Status check_vocabulary(const Vocabulary& vocabulary) {
  const size_t count = vocabulary.tokens.size();
  if (count == 0) return fail("vocabulary: has no tokens, expected at least one");
  if (count > INT32_MAX / 2) return fail("vocabulary: has {} tokens, expected fewer than 2^30", count);
  if (!vocabulary.types.empty() && vocabulary.types.size() != count) {
    return fail("vocabulary: has {} token types for {} tokens, expected as many", vocabulary.types.size(), count);
  }
  if (!vocabulary.scores.empty() && vocabulary.scores.size() != count) {
    return fail("vocabulary: has {} scores for {} tokens, expected as many", vocabulary.scores.size(), count);
  }
  if (vocabulary.kind == Vocabulary::Kind::SentencePiece && vocabulary.scores.empty() && vocabulary.merges.empty()) {
    return fail("vocabulary: SentencePiece has neither scores nor merges, expected one of them");
  }
  const auto in_range = [&](int id) { return id >= -1 && id < static_cast<int>(count); };
  const std::pair<std::string_view, int> named[] = {
      {"bos", vocabulary.bos}, {"eos", vocabulary.eos}, {"unknown", vocabulary.unk}, {"end of turn", vocabulary.eot}};
  for (const auto& [name, id] : named) {
    if (!in_range(id)) return fail("vocabulary: the {} token is {}, expected an id below {}", name, id, count);
  }
  for (const auto* list : {&vocabulary.stop, &vocabulary.strip_left, &vocabulary.strip_right}) {
    for (const int id : *list) {
      if (id < 0 || !in_range(id)) {
        return fail("vocabulary: a list of special tokens has {}, expected ids below {}", id, count);
      }
    }
  }
  return {};
}

}  // namespace shardwise
