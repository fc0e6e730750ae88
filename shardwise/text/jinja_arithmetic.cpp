// Python's arithmetic over values: integers of 64 bits that refuse to overflow, floats, and joined or repeated
// sequences.
#include <cmath>
#include <cstdlib>

#include "shardwise/text/jinja_format.h"
#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_operators.h"

namespace shardwise::jinja {
namespace {

constexpr std::string_view kTooLarge = "an integer grows past 64 bits";

bool both_trusted(const Value& a, const Value& b) { return a.trusted() && b.trusted(); }

[[noreturn]] void refuse(std::string_view op, const Value& a, const Value& b) {
  if (a.is_undefined()) stop("{}", a.why_undefined());
  if (b.is_undefined()) stop("{}", b.why_undefined());
  stop("'{}' cannot be used between '{}' and '{}'", op, a.type_name(), b.type_name());
}

struct Reals {
  double a, b;
};
Reals reals(std::string_view op, const Value& a, const Value& b) {
  const auto x = as_real(a), y = as_real(b);
  if (!x || !y) refuse(op, a, b);
  return {*x, *y};
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (a == INT64_MIN && b == -1) stop("{}", kTooLarge);
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

struct FloatDivision {
  double quotient, remainder;
};
// The remainder takes the sign of the divisor, and a == quotient * b + remainder as nearly as floats allow.
FloatDivision divide_floats(double a, double b) {
  if (b == 0) stop("division by zero");
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  } else if ((b < 0) != (remainder < 0)) {
    remainder += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  const double floored = std::floor(quotient);
  return {quotient - floored > 0.5 ? floored + 1 : floored, remainder};
}

Value repeat_items(Budget& budget, const Value& value, std::int64_t times) {
  const Sequence& sequence = *value.sequence();
  const std::size_t count = times > 0 ? static_cast<std::size_t>(times) : 0;
  if (count > 0 && sequence.items.size() > budget.limits().max_steps / count)
    stop("a list repeated {} times is too long", times);
  budget.charge(count * sequence.items.size());
  std::vector<Value> items;
  items.reserve(count * sequence.items.size());
  for (std::size_t i = 0; i < count && !sequence.items.empty(); ++i)
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return Value(std::make_shared<const Sequence>(sequence.kind, std::move(items)), value.container_trusted());
}

bool list_or_tuple(const Value& value) {
  const Sequence* s = value.sequence();
  return s && (s->kind == Sequence::Kind::List || s->kind == Sequence::Kind::Tuple);
}

std::optional<std::int64_t> integer_power(std::int64_t base, std::int64_t exponent) {
  if (base == 1 || exponent == 0) return 1;
  if (base == 0) return 0;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  std::int64_t out = 1;
  for (; exponent > 0; --exponent)  // |base| >= 2: at most 63 rounds
    if (__builtin_mul_overflow(out, base, &out)) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::int64_t> as_integer(const Value& value) {
  if (const std::int64_t* i = value.integer()) return *i;
  if (const bool* b = value.boolean()) return *b ? 1 : 0;
  return std::nullopt;
}

std::optional<double> as_real(const Value& value) {
  if (const double* d = value.real()) return *d;
  if (const auto i = as_integer(value)) return static_cast<double>(*i);
  return std::nullopt;
}

Value add(Budget& budget, const Value& a, const Value& b) {
  if (const auto x = as_integer(a), y = as_integer(b); x && y) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(*x, *y, &sum)) stop("{}", kTooLarge);
    return Value(sum, both_trusted(a, b));
  }
  if (a.string() && b.string()) {
    const Text &x = *a.string(), &y = *b.string();
    const bool markup = x.markup || y.markup;
    budget.produce(x.size() + y.size());
    Text sum = markup && !x.markup ? escape_html(x) : x;
    sum.append(markup && !y.markup ? escape_html(y) : y);
    sum.markup = markup;
    return Value(std::move(sum));
  }
  if (list_or_tuple(a) && list_or_tuple(b) && a.sequence()->kind == b.sequence()->kind) {
    std::vector<Value> items = a.sequence()->items;
    budget.charge(items.size() + b.sequence()->items.size());
    items.insert(items.end(), b.sequence()->items.begin(), b.sequence()->items.end());
    const bool trusted = a.container_trusted() && b.container_trusted();
    return Value(std::make_shared<const Sequence>(a.sequence()->kind, std::move(items)), trusted);
  }
  const Reals r = reals("+", a, b);
  return Value(r.a + r.b, both_trusted(a, b));
}

Value subtract(const Value& a, const Value& b) {
  if (const auto x = as_integer(a), y = as_integer(b); x && y) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(*x, *y, &difference)) stop("{}", kTooLarge);
    return Value(difference, both_trusted(a, b));
  }
  const Reals r = reals("-", a, b);
  return Value(r.a - r.b, both_trusted(a, b));
}

Value multiply(Budget& budget, const Value& a, const Value& b) {
  const auto x = as_integer(a), y = as_integer(b);
  if (x && y) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(*x, *y, &product)) stop("{}", kTooLarge);
    return Value(product, both_trusted(a, b));
  }
  if (a.string() && y) return Value(repeat(budget, *a.string(), *y));
  if (b.string() && x) return Value(repeat(budget, *b.string(), *x));
  if (list_or_tuple(a) && y) return repeat_items(budget, a, *y);
  if (list_or_tuple(b) && x) return repeat_items(budget, b, *x);
  const Reals r = reals("*", a, b);
  return Value(r.a * r.b, both_trusted(a, b));
}

Value divide(const Value& a, const Value& b) {
  const Reals r = reals("/", a, b);
  if (r.b == 0) stop("division by zero");
  return Value(r.a / r.b, both_trusted(a, b));
}

Value floor_divide(const Value& a, const Value& b) {
  if (const auto x = as_integer(a), y = as_integer(b); x && y) {
    if (*y == 0) stop("division by zero");
    return Value(floor_quotient(*x, *y), both_trusted(a, b));
  }
  const Reals r = reals("//", a, b);
  return Value(divide_floats(r.a, r.b).quotient, both_trusted(a, b));
}

Value modulo(Budget& budget, const Value& a, const Value& b) {
  if (const Text* format = a.string()) {
    Arguments arguments;
    const Sequence* tuple = b.sequence();
    if (tuple && tuple->kind == Sequence::Kind::Tuple) {
      arguments.positional = tuple->items;
    } else {
      arguments.positional.push_back(b);
    }
    const bool indexed =
        b.dict() || b.is_undefined() || (tuple && tuple->kind != Sequence::Kind::Tuple && tuple->indexable());
    return Value(format_percent(budget, *format, arguments, b.dict(), indexed));
  }
  if (const auto x = as_integer(a), y = as_integer(b); x && y) {
    if (*y == 0) stop("division by zero");
    if (*y == -1) return Value(std::int64_t{0}, both_trusted(a, b));
    return Value(*x - *y * floor_quotient(*x, *y), both_trusted(a, b));
  }
  const Reals r = reals("%", a, b);
  return Value(divide_floats(r.a, r.b).remainder, both_trusted(a, b));
}

Value power(const Value& a, const Value& b) {
  if (const auto x = as_integer(a), y = as_integer(b); x && y && *y >= 0) {
    const auto out = integer_power(*x, *y);
    if (!out) stop("{}", kTooLarge);
    return Value(*out, both_trusted(a, b));
  }
  const Reals r = reals("**", a, b);
  if (r.a == 0 && r.b < 0) stop("zero cannot be raised to a negative power");
  const double out = std::pow(r.a, r.b);
  if (std::isnan(out) && !std::isnan(r.a) && !std::isnan(r.b)) stop("a negative number has no real root");
  if (std::isinf(out) && !std::isinf(r.a) && !std::isinf(r.b)) stop("the result of ** is too large");
  return Value(out, both_trusted(a, b));
}

Value negate(const Value& value) {
  if (value.is_undefined()) stop("{}", value.why_undefined());
  if (const auto i = as_integer(value)) {
    if (*i == INT64_MIN) stop("{}", kTooLarge);
    return Value(-*i, value.trusted());
  }
  if (const double* d = value.real()) return Value(-*d, value.trusted());
  stop("'-' cannot be used on '{}'", value.type_name());
}

Value positive(const Value& value) {
  if (value.is_undefined()) stop("{}", value.why_undefined());
  if (const auto i = as_integer(value)) return Value(*i, value.trusted());
  if (const double* d = value.real()) return Value(*d, value.trusted());
  stop("'+' cannot be used on '{}'", value.type_name());
}

}  // namespace shardwise::jinja
