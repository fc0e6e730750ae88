// tokenize and detokenize: text, or a conversation, to token ids and back.
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/model.h"
#include "shardwise/text/utf8.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

struct TokenizeOptions {
  std::string model, text, chat;
  bool has_text = false, special = false, json = false;
  std::vector<int64_t> ids;
};

Result<Json> read_json(const std::string& path) {
  const auto text = read_text(path, "give a JSON file with a list of messages");
  if (!text) return text.error();
  Json j = Json::parse(
      *text, [](int depth, Json::parse_event_t, Json&) { return depth < 256; }, false);
  if (j.is_discarded()) return fail("{}: is not JSON", path);
  return j;
}

void print_ids(const TokenizeOptions& o, const std::vector<int>& ids, const std::string& prompt) {
  if (o.json) {
    Json j{{"tokens", ids}, {"count", ids.size()}};
    if (!o.chat.empty()) j["prompt"] = sanitised(prompt);
    std::cout << j.dump() << "\n";
    return;
  }
  std::cout << fmt::format("{}\n", fmt::join(ids, " "));
}

Status tokenize(const TokenizeOptions& o) {
  if (o.has_text == !o.chat.empty()) return fail("tokenize takes either a TEXT or --chat FILE");
  const auto file = ModelFile::open(o.model);
  if (!file) return file.error();
  const auto tokenizer = read_tokenizer(*file);
  if (!tokenizer) return tokenizer.error();
  if (o.has_text) return print_ids(o, tokenizer->with_ends(tokenizer->encode(o.text, o.special)), ""), Status{};
  const auto chat = read_json(o.chat);
  if (!chat) return chat.error();
  const bool object = chat->is_object();
  if (object && !chat->contains("messages")) return fail("{}: the object has no \"messages\"", o.chat);
  const auto pieces = render_chat(*file, *tokenizer, object ? (*chat)["messages"] : *chat,
                                  object && chat->contains("tools") ? (*chat)["tools"] : Json(nullptr));
  if (!pieces) return pieces.error();
  print_ids(o, tokenizer->with_ends(tokenizer->encode(*pieces)), concatenate(*pieces));
  return {};
}

Status detokenize(const TokenizeOptions& o) {
  const auto file = ModelFile::open(o.model);
  if (!file) return file.error();
  const auto tokenizer = read_tokenizer(*file);
  if (!tokenizer) return tokenizer.error();
  std::vector<int> ids;
  for (int64_t id : o.ids) {
    if (id < 0 || id >= tokenizer->size()) return fail("token id {}, expected 0 to {}", id, tokenizer->size() - 1);
    ids.push_back(int(id));
  }
  const std::string text = tokenizer->decode(ids, true);
  std::cout << (o.json ? Json{{"text", sanitised(text)}}.dump() : text) << "\n";
  return {};
}

}  // namespace

void add_tokenize(CLI::App& app, Action& action) {
  auto o = std::make_shared<TokenizeOptions>();
  CLI::App* t = app.add_subcommand("tokenize", "the token ids of a text or a conversation");
  t->add_option("MODEL", o->model, "a .gguf (or its first part), or a folder with config.json and safetensors")
      ->required();
  CLI::Option* text = t->add_option("TEXT", o->text, "the text");
  t->add_flag("--special", o->special, "control tokens in the text count as such");
  t->add_option("--chat", o->chat, "a JSON file: a list of messages, or an object with messages and tools");
  t->add_flag("--json", o->json, "one JSON object on stdout");
  t->callback([o, text, &action] {
    o->has_text = text->count() > 0;
    action = [o] { return tokenize(*o); };
  });
  CLI::App* d = app.add_subcommand("detokenize", "the text of token ids");
  d->add_option("MODEL", o->model, "a .gguf (or its first part), or a folder with config.json and safetensors")
      ->required();
  d->add_option("ID", o->ids, "token ids")->required();
  d->add_flag("--json", o->json, "one JSON object on stdout");
  d->callback([o, &action] { action = [o] { return detokenize(*o); }; });
}

}  // namespace shardwise
