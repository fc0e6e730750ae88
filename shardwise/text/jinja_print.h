// Values as text: Python's str() and repr(), and json.dumps as Hugging Face's tojson filter calls it.
// Invariant: marks travel with the bytes; brackets, quotes and commas are as trusted as the value they belong to.
#pragma once

#include <string>
#include <string_view>

#include "shardwise/text/jinja_value.h"

namespace shardwise::jinja {

Text to_text(Budget& budget, const Value& value);  // str(): "" for an undefined value
Text repr(Budget& budget, const Value& value);
std::string float_text(double number);  // Python's repr of a float: the shortest digits that read back the same

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool lines = false;  // each item on its own line, behind `indent` once a level
  Text indent;
  Text item_separator{", ", true};
  Text key_separator{": ", true};
};
// Fails on what JSON has no form for: undefined values, functions, keys that are tuples.
Text to_json(Budget& budget, const Value& value, const JsonStyle& style);

}  // namespace shardwise::jinja
