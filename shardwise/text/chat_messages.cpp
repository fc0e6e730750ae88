// Messages bent to a template: content and arguments of tool calls, by the rules in the header.
#include "shardwise/text/chat_messages.h"

#include <algorithm>
#include <array>
#include <string>

#include "shardwise/text/jinja_print.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kRoles = {"system", "developer", "user", "assistant", "tool", "function"};

bool nests_deeper(const Json& json, std::size_t levels) {
  if (!json.is_structured()) return false;
  if (levels == 0) return true;
  return std::any_of(json.begin(), json.end(), [&](const Json& item) { return nests_deeper(item, levels - 1); });
}

bool is_text_part(const Json& part) {
  return part.is_object() && part.value("type", Json()) == "text" && part.contains("text") && part["text"].is_string();
}

std::string joined(const Json& parts) {
  std::string out;
  for (const Json& part : parts) {
    if (!out.empty()) out += '\n';
    out += part["text"].get_ref<const std::string&>();
  }
  return out;
}

Status fit_content(Json& message, std::size_t index, const ChatTemplate::Traits& traits) {
  const bool calls =
      message.contains("tool_calls") && message["tool_calls"].is_array() && !message["tool_calls"].empty();
  Json& content = message["content"];  // null where there was none
  if (content.is_null() && !(calls && traits.null_content)) content = "";
  if (content.is_array() && !traits.text_parts) {
    const auto other = std::find_if_not(content.begin(), content.end(), is_text_part);
    if (other != content.end())
      return fail("message {}: content part {} is not text, and this model's chat template takes text only", index,
                  other - content.begin());
    content = joined(content);
  }
  if (content.is_string() && !traits.plain_content)
    content = Json::array({{{"type", "text"}, {"text", content.get<std::string>()}}});
  return {};
}

void fit_arguments(Json& message, const ChatTemplate::Traits& traits) {
  if (!message.contains("tool_calls") || !message["tool_calls"].is_array()) return;
  for (Json& call : message["tool_calls"]) {
    if (!call.is_object()) continue;
    Json& function = call.contains("function") && call["function"].is_object() ? call["function"] : call;
    if (!function.contains("arguments")) continue;
    Json& arguments = function["arguments"];
    if (arguments.is_string() && traits.object_arguments) {
      Json parsed = Json::parse(arguments.get_ref<const std::string&>(), nullptr, false);
      if (parsed.is_object() && !nests_deeper(parsed, jinja::kMaxValueDepth / 2)) arguments = std::move(parsed);
    } else if (arguments.is_structured() && !traits.object_arguments && traits.string_arguments) {
      jinja::Budget budget{jinja::Limits{}};
      arguments = jinja::to_json(budget, jinja::from_json(arguments, false), {}).bytes();
    }
  }
}

}  // namespace

Result<Json> fit_messages(const Json& messages, const ChatTemplate::Traits& traits) {
  if (!messages.is_array()) return fail("chat messages: expected a list, found {}", messages.type_name());
  if (nests_deeper(messages, jinja::kMaxValueDepth))
    return fail("chat messages: nested deeper than {} levels, the limit", jinja::kMaxValueDepth);
  Json out = messages;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Json& message = out[i];
    if (!message.is_object()) return fail("message {}: expected an object, found {}", i, message.type_name());
    if (!message.contains("role") || !message["role"].is_string())
      return fail("message {}: expected a 'role' that is a string", i);
    if (Status fitted = fit_content(message, i, traits); !fitted) return fitted.error();
    fit_arguments(message, traits);
  }
  return out;
}

jinja::Value message_values(const Json& messages) {
  std::vector<jinja::Value> out;
  for (const Json& message : messages) {
    const jinja::Value whole = jinja::from_json(message, false);
    jinja::Dict dict;
    for (const auto& [key, value] : whole.dict()->items()) {
      const jinja::Text* text = value.string();
      const bool known_role = text && key.string()->bytes() == "role" &&
                              std::find(kRoles.begin(), kRoles.end(), text->bytes()) != kRoles.end();
      dict.set(key, known_role ? jinja::Value(jinja::Text(text->bytes(), true)) : value);
    }
    out.push_back(jinja::make_dict(std::move(dict), false));
  }
  return jinja::make_list(std::move(out), false);
}

}  // namespace shardwise
