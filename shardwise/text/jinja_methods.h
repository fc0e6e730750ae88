// The methods of strings, lists, tuples and dicts that a template may call.
#pragma once

#include <string_view>

#include "shardwise/text/jinja_value.h"

namespace shardwise::jinja {

bool has_method(const Value& value, std::string_view name);  // here or in Python
bool is_refused(const Value& value, std::string_view name);  // it would change the value: the sandbox forbids it

Value bind_method(const Value& value, std::string_view name);  // REQUIRES: has_method, not is_refused

// Of strings, in jinja_string_methods.cpp.
bool has_string_method(std::string_view name);
Value call_string_method(Budget& budget, const Text& text, std::string_view name, const Arguments& arguments);

// Python's str operations, shared by methods and filters. Marks travel with the bytes.
enum class Side { Left, Right, Both };
Text strip(Budget& budget, const Text& text, const Text* chars, Side side);  // chars null: white space
Text replace(Budget& budget, const Text& text, const Text& from, const Text& to, std::int64_t count);  // < 0: all
Text upper(Budget& budget, const Text& text);
Text lower(Budget& budget, const Text& text);
Text capitalize(Budget& budget, const Text& text);
Text center(Budget& budget, const Text& text, std::int64_t width, std::string_view fill, Side side);  // side: padded
Text join(Budget& budget, const Text& separator, const std::vector<Text>& parts);
Text repeat(Budget& budget, const Text& text, std::int64_t times);
std::vector<Text> split(Budget& budget, const Text& text, const Text* separator, std::int64_t limit);
std::vector<Text> split_from_right(Budget& budget, const Text& text, const Text* separator, std::int64_t limit);
std::vector<Text> split_lines(Budget& budget, const Text& text, bool keep_ends);

}  // namespace shardwise::jinja
