// What Python's operators, attribute access and iteration do with values.
// Invariant: a result is trusted only where all that it was made of is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "shardwise/text/jinja_value.h"

namespace shardwise::jinja {

bool truthy(const Value& value);
std::optional<std::int64_t> as_integer(const Value& value);  // int or bool
std::optional<double> as_real(const Value& value);           // int, bool or float

bool equal(Budget& budget, const Value& a, const Value& b);
bool less(Budget& budget, const Value& a, const Value& b);  // fails where Python has no order
bool contains(Budget& budget, const Value& container, const Value& item);

Value add(Budget& budget, const Value& a, const Value& b);
Value subtract(const Value& a, const Value& b);
Value multiply(Budget& budget, const Value& a, const Value& b);
Value divide(const Value& a, const Value& b);
Value floor_divide(const Value& a, const Value& b);
Value modulo(Budget& budget, const Value& a, const Value& b);
Value power(const Value& a, const Value& b);
Value negate(const Value& value);
Value positive(const Value& value);

// value.name: the method first, then the item; and value[key]: the item first, then the method. Undefined where there
// is neither, or where the sandbox forbids it; fails on an undefined value. A slice fails on whatever cannot be cut.
Value attribute(const Value& value, std::string_view name);
Value item(Budget& budget, const Value& value, const Value& key);
Value slice(Budget& budget, const Value& value, const Value& start, const Value& end, const Value& step);

// The items that a for loop visits. What iterates once is used up.
std::shared_ptr<const Sequence> iterate(Budget& budget, const Value& value);
bool iterable(const Value& value);
std::optional<std::size_t> size_of(Budget& budget, const Value& value);  // none: Python's len() would refuse

}  // namespace shardwise::jinja
