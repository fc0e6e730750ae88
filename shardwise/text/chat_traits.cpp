// What a template can take, by how it renders small conversations that differ in one thing.
#include <algorithm>
#include <optional>

#include "shardwise/text/chat_messages.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kProbe = "probe-text-7261";
constexpr std::string_view kKey = "probe_key_7261";

std::optional<std::string> prompt_of(const ChatTemplate& probed, Json messages) {
  ChatTemplate::Options options;
  options.now = 0;
  options.limits.max_steps = 50'000;
  options.limits.max_string_bytes = 1 << 18;
  Json context = {{"messages", std::move(messages)}, {"tools", nullptr},     {"documents", nullptr},
                  {"add_generation_prompt", true},   {"bos_token", "<bos>"}, {"eos_token", "<eos>"}};
  const auto pieces = probed.render_context(context, options);
  if (!pieces) return std::nullopt;
  return concatenate(*pieces);
}

bool holds(const std::optional<std::string>& prompt, std::string_view text) {
  return prompt && prompt->find(text) != std::string::npos;
}

std::size_t count(const std::string& prompt, std::string_view word) {
  std::size_t n = 0;
  for (std::size_t at = prompt.find(word); at != std::string::npos; at = prompt.find(word, at + 1)) ++n;
  return n;
}

// user, assistant, user with one content after another; `system` puts a system message before them.
Json conversation(const Json& content, bool system) {
  Json messages = Json::array();
  if (system) messages.push_back({{"role", "system"}, {"content", content}});
  for (const char* role : {"user", "assistant", "user"}) messages.push_back({{"role", role}, {"content", content}});
  return messages;
}

void find_content_traits(const ChatTemplate& probed, ChatTemplate::Traits& traits) {
  const Json plain = std::string(kProbe);
  const Json parts = Json::array({{{"type", "text"}, {"text", std::string(kProbe)}}});
  std::optional<std::string> from_plain = prompt_of(probed, conversation(plain, true));
  const bool system = holds(from_plain, kProbe);
  if (!system) from_plain = prompt_of(probed, conversation(plain, false));
  const bool plain_shows = holds(from_plain, kProbe);
  const std::optional<std::string> from_parts = prompt_of(probed, conversation(parts, plain_shows && system));
  const bool parts_show = holds(from_parts, kProbe) && !holds(from_parts, "'type'") && !holds(from_parts, "\"type\"");
  traits.text_parts = plain_shows ? from_parts == from_plain : parts_show;
  traits.plain_content = plain_shows || !parts_show;
}

Json tool_conversation(const Json& content, const Json& arguments) {
  const Json call = {
      {"id", "call00001"}, {"type", "function"}, {"function", {{"name", "probe_tool"}, {"arguments", arguments}}}};
  return Json::array({{{"role", "user"}, {"content", std::string(kProbe)}},
                      {{"role", "assistant"}, {"content", content}, {"tool_calls", Json::array({call})}}});
}

void find_tool_traits(const ChatTemplate& probed, ChatTemplate::Traits& traits) {
  const std::string key(kKey);
  const Json object = {{key, "probe"}};
  const Json text = "{\"" + key + "\": \"probe\"}";
  const auto from_null = prompt_of(probed, tool_conversation(nullptr, object));
  const auto from_empty = prompt_of(probed, tool_conversation("", object));
  traits.null_content = from_null && (!from_empty || count(*from_null, "None") <= count(*from_empty, "None"));

  // An object that shows as Python prints it, or a string that shows quoted once more, was not meant to be one.
  const bool by_null = !holds(from_empty, kKey);
  const auto from_object = by_null ? from_null : from_empty;
  traits.object_arguments = holds(from_object, kKey) && !holds(from_object, "'" + key);
  for (const Json& content : {Json(""), Json(nullptr)}) {
    const auto from_text = prompt_of(probed, tool_conversation(content, text));
    traits.string_arguments = traits.string_arguments || (holds(from_text, kKey) && !holds(from_text, "\\\"" + key));
  }
}

}  // namespace

ChatTemplate::Traits find_traits(const ChatTemplate& probed) {
  ChatTemplate::Traits traits;
  find_content_traits(probed, traits);
  find_tool_traits(probed, traits);
  return traits;
}

}  // namespace shardwise
