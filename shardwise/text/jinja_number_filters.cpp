// Filters that read and make numbers.
#include <charconv>
#include <cmath>

#include "shardwise/text/jinja_filters.h"
#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"

namespace shardwise::jinja {
namespace {

// The digits of a number as Python reads them: white space around, one sign, single underscores between digits.
std::optional<std::string> digits_of(Budget& budget, const Text& text, bool& negative) {
  std::string bytes = strip(budget, text, nullptr, Side::Both).bytes();
  negative = bytes.starts_with('-');
  if (negative || bytes.starts_with('+')) bytes.erase(0, 1);
  if (bytes.starts_with('_') || bytes.ends_with('_') || bytes.find("__") != std::string::npos) return std::nullopt;
  std::erase(bytes, '_');
  if (bytes.empty() || bytes[0] == '-' || bytes[0] == '+') return std::nullopt;
  for (char& c : bytes) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return bytes;
}

std::optional<std::int64_t> read_integer(Budget& budget, const Text& text, std::int64_t base) {
  bool negative = false;
  std::optional<std::string> digits = digits_of(budget, text, negative);
  if (!digits || base < 2 || base > 36) return std::nullopt;
  const std::string_view prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
  if (!prefix.empty() && digits->starts_with(prefix)) digits->erase(0, 2);
  if (negative) digits->insert(0, "-");
  std::int64_t number = 0;
  const char* end = digits->data() + digits->size();
  const auto read = std::from_chars(digits->data(), end, number, static_cast<int>(base));
  if (read.ptr != end) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) stop("the number '{}' does not fit 64 bits", *digits);
  return read.ec == std::errc() ? std::optional<std::int64_t>(number) : std::nullopt;
}

std::optional<double> read_real(Budget& budget, const Text& text) {
  bool negative = false;
  const std::optional<std::string> digits = digits_of(budget, text, negative);
  if (!digits) return std::nullopt;
  double number = 0;
  const char* end = digits->data() + digits->size();
  const auto read = std::from_chars(digits->data(), end, number);
  if (read.ptr != end || digits->find('(') != std::string::npos) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) number = digits->find("e-") == std::string::npos ? HUGE_VAL : 0.0;
  return negative ? -number : number;
}

std::optional<std::int64_t> truncated(double number) {
  if (std::isnan(number) || std::isinf(number)) return std::nullopt;
  if (std::fabs(number) >= 9.2e18) stop("the number {} does not fit 64 bits", number);
  return static_cast<std::int64_t>(number);
}

Value to_integer(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  if (subject.is_undefined()) stop("{}", subject.why_undefined());
  std::optional<std::int64_t> number;
  if (const Text* text = subject.string()) {
    number = read_integer(budget, *text, bound.integer_or(1, 10));
    const std::optional<double> real = number ? std::nullopt : read_real(budget, *text);
    if (real) number = truncated(*real);
  } else if (const double* real = subject.real()) {
    if (std::isinf(*real)) stop("an infinite number is no integer");
    number = truncated(*real);
  } else {
    number = as_integer(subject);
  }
  if (number) return Value(*number, subject.trusted());
  return bound[0] ? *bound[0] : Value(std::int64_t{0});
}

Value to_real(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  if (subject.is_undefined()) stop("{}", subject.why_undefined());
  const std::optional<double> number = subject.string() ? read_real(budget, *subject.string()) : as_real(subject);
  if (number) return Value(*number, subject.trusted());
  return bound[0] ? *bound[0] : Value(0.0);
}

Value absolute(Budget&, const Value& subject, const Arguments& arguments) {
  const Bound bound("abs", arguments, {});
  if (const auto i = as_integer(subject)) return *i < 0 ? negate(subject) : positive(subject);
  if (const double* d = subject.real()) return Value(std::fabs(*d), subject.trusted());
  if (subject.is_undefined()) stop("{}", subject.why_undefined());
  stop("abs needs a number, not {}", subject.type_name());
}

// Half to even on the exact binary value, which is what printing a fixed number of digits does, too.
double round_to(double number, std::int64_t precision) {
  if (!std::isfinite(number) || precision > 300) return number;
  if (precision < -300) return std::copysign(0.0, number);
  if (precision <= 0) {
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(number / scale) * scale;
  }
  const std::string digits = fmt::format("{:.{}f}", number, precision);
  double out = number;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

Value rounded(Budget&, const Value& subject, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::int64_t precision = bound.integer_or(0, 0);
  const std::string method = bound[1] && bound[1]->string() ? bound[1]->string()->bytes() : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    stop("round: the method must be common, ceil or floor, not '{}'", method);
  if (subject.is_undefined()) stop("{}", subject.why_undefined());
  const std::optional<double> number = as_real(subject);
  if (!number) stop("round needs a number, not {}", subject.type_name());
  if (method != "common") {
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = *number * scale;
    if (!std::isfinite(scaled)) stop("round: {} is too large", *number);
    return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale, subject.trusted());
  }
  if (!as_integer(subject)) return Value(round_to(*number, precision), subject.trusted());
  if (precision >= 0) return positive(subject);
  return Value(static_cast<std::int64_t>(round_to(*number, precision)), subject.trusted());
}

Value summed(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  Value total = bound[1] ? *bound[1] : Value(std::int64_t{0});
  if (total.string()) stop("sum cannot add strings: use join");
  const auto source = iterate(budget, subject);
  for (const Value& member : source->items)
    total = add(budget, total, bound.given(0) ? look_up(budget, member, *bound[0]) : member);
  return total;
}

// The first of the least (or greatest) items.
template <bool greatest>
Value extreme(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound(greatest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const bool exact = bound.truth_or(0, false);
  const Value* best = nullptr;
  Value best_key;
  const auto items = iterate(budget, subject);
  for (const Value& member : items->items) {
    Value key = bound.given(1) ? look_up(budget, member, *bound[1]) : member;
    if (!exact) key = ignore_case(budget, key);
    const bool better = best && (greatest ? less(budget, best_key, key) : less(budget, key, best_key));
    if (best && !better) continue;
    best = &member;
    best_key = key;
  }
  return best ? *best : Value::undefined("no aggregated item: the sequence was empty");
}

}  // namespace

const FilterTable& number_filters() {
  static const FilterTable kFilters = {
      {"int", to_integer}, {"float", to_real},      {"abs", absolute},      {"round", rounded},
      {"sum", summed},     {"min", extreme<false>}, {"max", extreme<true>},
  };
  return kFilters;
}

}  // namespace shardwise::jinja
