// Filters (value|name) and tests (value is name), found by name.
#pragma once

#include <string_view>
#include <unordered_map>

#include "shardwise/text/jinja_value.h"

namespace shardwise::jinja {

Value apply_filter(Budget& budget, std::string_view name, const Value& subject, const Arguments& arguments);
bool has_filter(std::string_view name);

bool apply_test(Budget& budget, std::string_view name, const Value& subject, const Arguments& arguments);
bool has_test(std::string_view name);

using Filter = Value (*)(Budget& budget, const Value& subject, const Arguments& arguments);
using FilterTable = std::unordered_map<std::string_view, Filter>;
const FilterTable& string_filters();    // jinja_string_filters.cpp
const FilterTable& number_filters();    // jinja_number_filters.cpp
const FilterTable& sequence_filters();  // jinja_sequence_filters.cpp
const FilterTable& select_filters();    // jinja_select_filters.cpp

// "a.b.0": what map, sort and their like look at in each item; none or an integer work, too.
Value look_up(Budget& budget, const Value& item, const Value& path, const Value* otherwise = nullptr);
Value ignore_case(Budget& budget, const Value& value);  // strings in lower case, all else as it is

}  // namespace shardwise::jinja
