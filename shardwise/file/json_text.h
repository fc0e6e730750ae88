// JSON from outside, read so that no text can harm: size, depth and repeated keys are checked before a tree is built.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "shardwise/base/result.h"

namespace shardwise {

// The whole text as one object. Errors name `file` and the byte: longer than `max_bytes`, not JSON, not an object, more
// than 64 levels deep, or a key twice in one object (readers would differ on which one counts).
Result<nlohmann::json> parse_json_object(std::string_view file, std::span<const std::byte> text, size_t max_bytes);

}  // namespace shardwise
