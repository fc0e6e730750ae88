// Key by key; what the file does not say is left unset for Tokenizer::make.
#include "tests/tokens/model_vocabulary.h"

namespace shardwise {

Result<Vocabulary> vocabulary_from_metadata(const Metadata& metadata) {
  const auto model = metadata.require_text("tokenizer.ggml.model");
  if (!model) return model.error();
  const auto kind = vocabulary_kind(*model);
  if (!kind) return kind.error();
  const auto tokens = metadata.require_strings("tokenizer.ggml.tokens");
  if (!tokens) return tokens.error();

  Vocabulary made;
  made.kind = *kind;
  made.tokens.assign(tokens->begin(), tokens->end());
  made.pre = metadata.text("tokenizer.ggml.pre").value_or("");
  if (const auto scores = metadata.numbers("tokenizer.ggml.scores")) made.scores.assign(scores->begin(), scores->end());
  if (const auto merges = metadata.strings("tokenizer.ggml.merges")) made.merges.assign(merges->begin(), merges->end());
  if (const auto types = metadata.integers("tokenizer.ggml.token_type")) {
    for (const int64_t type : *types) {
      made.types.push_back(type >= 0 && type <= 6 ? static_cast<TokenType>(type) : TokenType::Undefined);
    }
  }
  const std::pair<const char*, int*> ids[] = {{"tokenizer.ggml.bos_token_id", &made.bos},
                                              {"tokenizer.ggml.eos_token_id", &made.eos},
                                              {"tokenizer.ggml.eot_token_id", &made.eot},
                                              {"tokenizer.ggml.unknown_token_id", &made.unk},
                                              {"tokenizer.ggml.padding_token_id", &made.pad}};
  for (const auto& [key, id] : ids) {
    if (const auto found = metadata.integer(key); found && *found >= -1 && *found <= INT32_MAX) {
      *id = static_cast<int>(*found);
    }
  }
  made.add_bos = metadata.flag("tokenizer.ggml.add_bos_token");
  made.add_eos = metadata.flag("tokenizer.ggml.add_eos_token");
  made.add_space_prefix = metadata.flag("tokenizer.ggml.add_space_prefix");
  return made;
}

}  // namespace shardwise
