// The text side of a model file: its tokenizer and its chat template.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shardwise/file/model_file.h"
#include "shardwise/text/chat_template.h"
#include "shardwise/text/tokenizer.h"

namespace shardwise {

// From GGUF metadata, or from tokenizer.json and its neighbours. Errors: a vocabulary of an unknown kind, or a broken
// one.
Result<Tokenizer> read_tokenizer(const ModelFile&);

// The source of the model's chat template, if it has one.
std::optional<std::string> chat_template_text(const ModelFile&);

// A conversation through the template, as marked pieces. Errors: no template, what the template raises.
Result<std::vector<Piece>> render_chat(const ModelFile&, const Tokenizer&, const nlohmann::ordered_json& messages,
                                       const nlohmann::ordered_json& tools);

}  // namespace shardwise
