// A parsed template and its renders. No exception leaves this file.
#include "shardwise/text/chat_template.h"

#include <utility>

#include "shardwise/text/chat_messages.h"
#include "shardwise/text/jinja_interpreter.h"
#include "shardwise/text/jinja_parser.h"

namespace shardwise {

struct ChatTemplate::Tree {
  jinja::Body body;
};

struct ChatTemplate::Variables {
  std::vector<std::pair<std::string, jinja::Value>> values;

  void set(const std::string& name, jinja::Value value) {
    for (auto& [held, old] : values) {
      if (held != name) continue;
      old = std::move(value);
      return;
    }
    values.emplace_back(name, std::move(value));
  }
};

ChatTemplate::ChatTemplate(std::string source, std::shared_ptr<const Tree> tree)
    : source_(std::move(source)), tree_(std::move(tree)) {}

Result<ChatTemplate> ChatTemplate::parse(std::string source) {
  constexpr std::size_t kLargest = 4u << 20;
  if (source.size() > kLargest) return fail("chat template: {} bytes long, the limit is {}", source.size(), kLargest);
  try {
    auto tree = std::make_shared<const Tree>(Tree{jinja::parse(source)});
    ChatTemplate parsed(std::move(source), std::move(tree));
    parsed.traits_ = find_traits(parsed);
    return parsed;
  } catch (const jinja::Failure& failure) {
    return fail("chat template, {}", failure.what);
  }
}

Result<std::vector<Piece>> ChatTemplate::run(const Variables& variables, const Options& options) const {
  jinja::Interpreter interpreter(options.limits);
  try {
    return interpreter.run(tree_->body, variables.values, options.now).pieces();
  } catch (const jinja::Failure& failure) {
    if (failure.raised) return fail("the chat template refuses this conversation: {}", failure.what);
    return fail("chat template, line {}: {}", interpreter.line(), failure.what);
  }
}

Result<std::vector<Piece>> ChatTemplate::render(const nlohmann::ordered_json& messages,
                                                const nlohmann::ordered_json& tools, const Options& options) const {
  Variables variables;
  try {
    Result<nlohmann::ordered_json> fitted = fit_messages(messages, traits_);
    if (!fitted) return fitted.error();
    variables.set("documents", jinja::Value(jinja::None{}));
    if (!options.extra.is_null() && !options.extra.is_object())
      return fail("chat template: further variables must be a JSON object, not {}", options.extra.type_name());
    for (const auto& item : options.extra.items()) variables.set(item.key(), jinja::from_json(item.value(), false));
    variables.set("messages", message_values(*fitted));
    variables.set("tools", jinja::from_json(tools, false));
  } catch (const jinja::Failure& failure) {
    return fail("chat messages: {}", failure.what);
  }
  variables.set("add_generation_prompt", jinja::Value(options.add_generation_prompt));
  variables.set("bos_token", jinja::Value(jinja::Text(options.bos_token, true)));
  variables.set("eos_token", jinja::Value(jinja::Text(options.eos_token, true)));
  return run(variables, options);
}

Result<std::vector<Piece>> ChatTemplate::render_context(const nlohmann::ordered_json& context,
                                                        const Options& options) const {
  if (!context.is_object())
    return fail("chat template: the context must be a JSON object, not {}", context.type_name());
  Variables variables;
  try {
    for (const auto& item : context.items()) {
      const bool token = item.key() == "bos_token" || item.key() == "eos_token";
      variables.set(item.key(), jinja::from_json(item.value(), token));
    }
  } catch (const jinja::Failure& failure) {
    return fail("chat template: {}", failure.what);
  }
  return run(variables, options);
}

std::string concatenate(std::span<const Piece> pieces) {
  std::string out;
  for (const Piece& piece : pieces) out += piece.text;
  return out;
}

}  // namespace shardwise
