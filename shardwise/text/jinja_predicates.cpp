// The tests of `value is name`.
#include <algorithm>
#include <unordered_map>

#include "shardwise/text/jinja_filters.h"
#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"

namespace shardwise::jinja {
namespace {

using Test = bool (*)(Budget&, const Value&, const Arguments&);

const Value& other_of(std::string_view name, const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty()) stop("the test '{}' needs one value", name);
  return arguments.positional[0];
}

// The remainder decides, as Python's value % divisor does.
bool remainder_is(Budget& budget, const Value& value, const Value& divisor, std::int64_t wanted) {
  return equal(budget, modulo(budget, value, divisor), Value(wanted));
}

template <bool negate>
bool is_equal(Budget& budget, const Value& value, const Arguments& arguments) {
  return equal(budget, value, other_of("eq", arguments)) != negate;
}
bool is_less(Budget& budget, const Value& value, const Arguments& arguments) {
  return less(budget, value, other_of("lt", arguments));
}
bool is_greater(Budget& budget, const Value& value, const Arguments& arguments) {
  return less(budget, other_of("gt", arguments), value);
}
bool is_at_most(Budget& budget, const Value& value, const Arguments& arguments) {
  return is_less(budget, value, arguments) || is_equal<false>(budget, value, arguments);
}
bool is_at_least(Budget& budget, const Value& value, const Arguments& arguments) {
  return is_greater(budget, value, arguments) || is_equal<false>(budget, value, arguments);
}

// Only what Python keeps one object of can be told apart by identity here.
bool is_same(Budget& budget, const Value& value, const Arguments& arguments) {
  const Value& other = other_of("sameas", arguments);
  if (value.sequence() || other.sequence()) return value.sequence() == other.sequence();
  if (value.dict() || other.dict()) return value.dict() == other.dict();
  return value.type_name() == other.type_name() && equal(budget, value, other);
}

bool is_in(Budget& budget, const Value& value, const Arguments& arguments) {
  return contains(budget, other_of("in", arguments), value);
}

bool is_sequence(Budget&, const Value& value, const Arguments&) {
  return value.is_undefined() || value.string() || value.dict() || (value.sequence() && value.sequence()->indexable());
}

template <bool upper>
bool is_case(Budget& budget, const Value& value, const Arguments&) {
  const Value answer = call_string_method(budget, to_text(budget, value), upper ? "isupper" : "islower", {});
  return truthy(answer);
}

bool names_filter(Budget&, const Value& value, const Arguments&) {
  return value.string() && has_filter(value.string()->bytes());
}
bool names_test(Budget&, const Value& value, const Arguments&) {
  return value.string() && has_test(value.string()->bytes());
}

const std::unordered_map<std::string_view, Test>& tests() {
  using V = const Value&;
  using A = const Arguments&;
  static const std::unordered_map<std::string_view, Test> kTests = {
      {"defined", [](Budget&, V v, A) { return !v.is_undefined(); }},
      {"undefined", [](Budget&, V v, A) { return v.is_undefined(); }},
      {"none", [](Budget&, V v, A) { return v.is_none(); }},
      {"boolean", [](Budget&, V v, A) { return v.boolean() != nullptr; }},
      {"true", [](Budget&, V v, A) { return v.boolean() && *v.boolean(); }},
      {"false", [](Budget&, V v, A) { return v.boolean() && !*v.boolean(); }},
      {"integer", [](Budget&, V v, A) { return v.integer() != nullptr; }},
      {"float", [](Budget&, V v, A) { return v.real() != nullptr; }},
      {"number", [](Budget&, V v, A) { return as_real(v).has_value(); }},
      {"string", [](Budget&, V v, A) { return v.string() != nullptr; }},
      {"mapping", [](Budget&, V v, A) { return v.dict() != nullptr; }},
      {"iterable", [](Budget&, V v, A) { return iterable(v); }},
      {"sequence", is_sequence},
      {"callable", [](Budget&, V v, A) { return v.is_undefined() || (v.object() && v.object()->callable()); }},
      {"escaped", [](Budget&, V v, A) { return v.string() && v.string()->markup; }},
      {"odd", [](Budget& b, V v, A) { return remainder_is(b, v, Value(std::int64_t{2}), 1); }},
      {"even", [](Budget& b, V v, A) { return remainder_is(b, v, Value(std::int64_t{2}), 0); }},
      {"divisibleby", [](Budget& b, V v, A a) { return remainder_is(b, v, other_of("divisibleby", a), 0); }},
      {"upper", is_case<true>},
      {"lower", is_case<false>},
      {"filter", names_filter},
      {"test", names_test},
      {"sameas", is_same},
      {"in", is_in},
      {"eq", is_equal<false>},
      {"equalto", is_equal<false>},
      {"==", is_equal<false>},
      {"ne", is_equal<true>},
      {"!=", is_equal<true>},
      {"lt", is_less},
      {"lessthan", is_less},
      {"<", is_less},
      {"le", is_at_most},
      {"<=", is_at_most},
      {"gt", is_greater},
      {"greaterthan", is_greater},
      {">", is_greater},
      {"ge", is_at_least},
      {">=", is_at_least},
  };
  return kTests;
}

}  // namespace

bool has_test(std::string_view name) { return tests().contains(name); }

bool apply_test(Budget& budget, std::string_view name, const Value& subject, const Arguments& arguments) {
  const auto test = tests().find(name);
  if (test == tests().end()) stop("there is no test named '{}'", name);
  budget.charge(1);
  return test->second(budget, subject, arguments);
}

}  // namespace shardwise::jinja
