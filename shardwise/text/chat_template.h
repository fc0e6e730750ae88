// A model's chat template: messages and tools to the prompt it was trained on, by the Jinja language that Hugging Face
// gives to templates. Every byte of the prompt is marked as the template's own or as input (case B41).
// Immutable once parsed: any number of threads may render at once.
#pragma once

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/text/jinja_failure.h"
#include "shardwise/text/piece.h"

namespace shardwise {

class ChatTemplate {
 public:
  struct Options {
    bool add_generation_prompt = true;
    std::string bos_token, eos_token;  // trusted, as the template's own text
    nlohmann::ordered_json extra;      // an object with further variables, for example enable_thinking; not trusted
    std::optional<std::time_t> now;    // what strftime_now shows, by default the clock
    jinja::Limits limits;
  };

  // What a template can take, found by rendering small conversations when it is parsed.
  struct Traits {
    bool text_parts = false;        // content as a list of parts gives the prompt that the plain string gives
    bool plain_content = true;      // content may be a string; false: only a list of parts appears in the prompt
    bool null_content = false;      // content null beside tool calls is taken for what it is
    bool object_arguments = false;  // a tool call's arguments may be an object; false: they are printed as a string
    bool string_arguments = false;  // a tool call's arguments may be a string of JSON
  };

  // Refuses a template that is not Jinja, or uses what chat templates do not have (include, import, extends).
  static Result<ChatTemplate> parse(std::string source);

  // The prompt of a conversation in the form of the OpenAI chat API: a list of {role, content, ...}; tools is a list or
  // null. Messages are first put into the form that the template takes (see chat_messages.h). What the template raises
  // comes back as an error that holds its message.
  Result<std::vector<Piece>> render(const nlohmann::ordered_json& messages, const nlohmann::ordered_json& tools,
                                    const Options& options) const;

  // The template over any variables, as they are; all of `context` but the two token strings counts as input.
  Result<std::vector<Piece>> render_context(const nlohmann::ordered_json& context, const Options& options) const;

  const Traits& traits() const { return traits_; }
  const std::string& source() const { return source_; }

 private:
  struct Tree;
  struct Variables;
  ChatTemplate(std::string source, std::shared_ptr<const Tree> tree);
  Result<std::vector<Piece>> run(const Variables& variables, const Options& options) const;

  std::string source_;
  std::shared_ptr<const Tree> tree_;
  Traits traits_;
};

std::string concatenate(std::span<const Piece> pieces);

}  // namespace shardwise
