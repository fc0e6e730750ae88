// GGUF's tokenizer.ggml.* keys, and the files of a Hugging Face folder, as a Vocabulary.
#include "shardwise/engine/language.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace shardwise {
namespace {

std::string text_of(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();  // of what can not be read, nothing
  return text.str();
}

Result<Vocabulary> gguf_vocabulary(const ModelFile& file) {
  const Metadata& meta = file.metadata();
  const auto model = meta.require_text("tokenizer.ggml.model");
  if (!model) return model.error();
  const auto kind = vocabulary_kind(*model);
  if (!kind) return fail("{}: {}", file.paths().front(), kind.error().what);
  const auto tokens = meta.require_strings("tokenizer.ggml.tokens");
  if (!tokens) return tokens.error();
  Vocabulary v;
  v.kind = *kind;
  v.tokens.assign(tokens->begin(), tokens->end());
  if (const auto scores = meta.numbers("tokenizer.ggml.scores")) v.scores.assign(scores->begin(), scores->end());
  if (const auto types = meta.integers("tokenizer.ggml.token_type"))
    for (int64_t t : *types) v.types.push_back(TokenType(t));
  if (const auto merges = meta.strings("tokenizer.ggml.merges")) v.merges.assign(merges->begin(), merges->end());
  v.pre = meta.text("tokenizer.ggml.pre").value_or("");
  auto id = [&](const char* name) {
    return int(meta.integer(std::string("tokenizer.ggml.") + name + "_token_id").value_or(-1));
  };
  v.bos = id("bos"), v.eos = id("eos"), v.unk = id("unknown"), v.pad = id("padding"), v.eot = id("eot");
  v.add_bos = meta.flag("tokenizer.ggml.add_bos_token"), v.add_eos = meta.flag("tokenizer.ggml.add_eos_token");
  v.add_space_prefix = meta.flag("tokenizer.ggml.add_space_prefix");
  return v;
}

Result<Vocabulary> vocabulary(const ModelFile& file) {
  if (file.format() == ModelFile::Format::Gguf) return gguf_vocabulary(file);
  const ModelFolder& folder = file.folder();
  if (folder.tokenizer.empty())
    return fail("{}: there is no tokenizer.json beside it; copy it from where the model comes from", folder.config);
  return vocabulary_from_tokenizer_json(text_of(folder.tokenizer), text_of(folder.tokenizer_config),
                                        text_of(folder.generation_config));
}

}  // namespace

Result<Tokenizer> read_tokenizer(const ModelFile& file) {
  auto v = vocabulary(file);
  if (!v) return v.error();
  return Tokenizer::make(std::move(*v));
}

std::optional<std::string> chat_template_text(const ModelFile& file) {
  if (file.format() == ModelFile::Format::Gguf) return file.metadata().text("tokenizer.chat_template");
  const auto config = nlohmann::json::parse(text_of(file.folder().tokenizer_config), nullptr, false);
  if (!config.is_object() || !config.contains("chat_template") || !config["chat_template"].is_string())
    return std::nullopt;
  return config["chat_template"].get<std::string>();
}

Result<std::vector<Piece>> render_chat(const ModelFile& file, const Tokenizer& tokenizer,
                                       const nlohmann::ordered_json& messages, const nlohmann::ordered_json& tools) {
  const auto source = chat_template_text(file);
  const std::string path = file.paths().empty() ? file.folder().config : file.paths().front();
  if (!source) return fail("{}: the model has no chat template; use --raw for plain text", path);
  const auto chat = ChatTemplate::parse(*source);
  if (!chat) return fail("{}: chat template: {}", path, chat.error().what);
  ChatTemplate::Options options;
  const auto& tokens = tokenizer.vocabulary().tokens;
  if (tokenizer.bos() >= 0) options.bos_token = tokens[size_t(tokenizer.bos())];
  if (tokenizer.eos() >= 0) options.eos_token = tokens[size_t(tokenizer.eos())];
  return chat->render(messages, tools, options);
}

}  // namespace shardwise
