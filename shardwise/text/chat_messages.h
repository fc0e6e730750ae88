// Messages in the form that a template takes.
// Invariant: a conversation whose content is one text part, or null beside tool calls, gives the prompt that the plain
// string or the empty string gives (case S04), unless the template itself tells them apart.
#pragma once

#include <nlohmann/json.hpp>

#include "shardwise/base/result.h"
#include "shardwise/text/chat_template.h"
#include "shardwise/text/jinja_value.h"

namespace shardwise {

// The rules, in order, for each message:
//  * content that is a list of text parts stays a list where the template treats it as it does the string; otherwise
//    the parts are joined by newlines. A part that is no text is refused where the template does not take lists.
//  * a string becomes a list of one part where the template takes nothing else.
//  * content that is null or missing becomes "" where the template would fail on it or print "None".
//  * arguments of a tool call that are a string of JSON become the object where the template takes objects; an object
//    becomes JSON text where the template prints strings.
// Refuses what is not a list of objects with a role.
Result<nlohmann::ordered_json> fit_messages(const nlohmann::ordered_json& messages, const ChatTemplate::Traits& traits);

// The messages as values: all input is untrusted but the roles that every template knows, because templates spell
// control tokens with them ("<|" + role + "|>").
jinja::Value message_values(const nlohmann::ordered_json& messages);

// Renders `probe` conversations and compares.
ChatTemplate::Traits find_traits(const ChatTemplate& probed);

}  // namespace shardwise
