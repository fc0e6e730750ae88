// Tokens to a tree, by Jinja's grammar.
#pragma once

#include <string_view>

#include "shardwise/text/jinja_ast.h"

namespace shardwise::jinja {

Body parse(std::string_view source);  // throws Failure "line N: ..."

}  // namespace shardwise::jinja
