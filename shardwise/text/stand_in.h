// A text of the same length, character for character, that PCRE2 10.42 classes as the model's own tokenizer would.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shardwise {

// Nothing when `text` serves as it is. Bytes that are not UTF-8 become control characters, one each.
std::optional<std::string> stand_in_text(std::string_view text);

}  // namespace shardwise
