// The mini-languages of str % and str.format, over one Spec.
#include "shardwise/text/jinja_format.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"
#include "shardwise/text/jinja_unicode.h"

namespace shardwise::jinja {
namespace {

struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =, 0: by type
  char sign = '-';
  bool alternate = false;
  bool grouped = false;
  std::int64_t width = 0;
  int precision = -1;
  char type = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits at `at`, at most four of them: no honest template pads further.
std::int64_t read_number(std::string_view text, std::size_t& at) {
  std::int64_t number = 0;
  for (std::size_t digits = 0; at < text.size() && is_digit(text[at]); ++at) {
    if (++digits > 4) stop("a format asks for a width past 9999");
    number = number * 10 + (text[at] - '0');
  }
  return number;
}

// [[fill]align][sign][#][0][width][,][.precision][type]
Spec read_spec(std::string_view text) {
  Spec spec;
  std::size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const std::size_t first = text.empty() ? 0 : character_at(text, 0).size;
  if (first < text.size() && is_align(text[first])) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[at++];
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') spec.alternate = ++at > 0;
  if (at < text.size() && text[at] == '0') {
    if (!spec.align) {
      spec.align = '=';
      spec.fill = "0";
    }
    ++at;
  }
  spec.width = read_number(text, at);
  if (at < text.size() && text[at] == ',') spec.grouped = ++at > 0;
  if (at < text.size() && text[at] == '.') {
    if (++at >= text.size() || !is_digit(text[at])) stop("format '{}': digits must follow the point", text);
    spec.precision = static_cast<int>(read_number(text, at));
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) stop("format '{}' is not understood", text);
  return spec;
}

std::string group_thousands(const std::string& digits) {
  const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (std::size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out + digits.substr(whole);
}

std::string float_digits(double magnitude, const Spec& spec) {
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 'f':
    case 'F': return fmt::format("{:.{}f}", magnitude, precision);
    case 'e': return fmt::format("{:.{}e}", magnitude, precision);
    case 'E': return fmt::format("{:.{}E}", magnitude, precision);
    case 'g': return fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
    case 'G': return fmt::format("{:.{}G}", magnitude, std::max(precision, 1));
    case '%': return fmt::format("{:.{}f}%", magnitude * 100, precision);
    default:
      return spec.precision < 0 ? float_text(magnitude) : fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
  }
}

std::string integer_digits(std::uint64_t magnitude, const Spec& spec) {
  switch (spec.type) {
    case 'x': return (spec.alternate ? "0x" : "") + fmt::format("{:x}", magnitude);
    case 'X': return (spec.alternate ? "0X" : "") + fmt::format("{:X}", magnitude);
    case 'o': return (spec.alternate ? "0o" : "") + fmt::format("{:o}", magnitude);
    case 'b': return (spec.alternate ? "0b" : "") + fmt::format("{:b}", magnitude);
    default: return std::to_string(magnitude);
  }
}

Text pad(Budget& budget, Text body, std::string_view sign, const Spec& spec, char default_align, bool trusted) {
  const char align = spec.align ? spec.align : default_align;
  if (align == '=') {
    const Spec inner{spec.fill, '>', '-', false, false, spec.width - static_cast<std::int64_t>(sign.size()), -1, 0};
    Text out(std::string(sign), trusted);
    out.append(pad(budget, std::move(body), "", inner, '>', trusted));
    return out;
  }
  Text whole(std::string(sign), trusted);
  whole.append(body);
  const Side side = align == '<' ? Side::Right : align == '>' ? Side::Left : Side::Both;
  const auto missing = spec.width - static_cast<std::int64_t>(length(whole.bytes()));
  if (missing <= 0) return whole;
  if (side != Side::Both) return center(budget, whole, spec.width, spec.fill, side);
  Text left;  // format() puts the odd one to the right; str.center does not
  for (std::int64_t i = 0; i < missing / 2; ++i) left.append(spec.fill, trusted);
  left.append(whole);
  for (std::int64_t i = 0; i < missing - missing / 2; ++i) left.append(spec.fill, trusted);
  return left;
}

Text format_number(Budget& budget, const Value& value, const Spec& spec) {
  const bool as_float = value.real() || std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  std::string digits;
  bool negative = false;
  if (as_float && spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) == std::string_view::npos)
    stop("format type '{}' does not fit a float", spec.type);
  if (as_float) {
    const double number = *as_real(value);
    negative = std::signbit(number) && !std::isnan(number);
    digits = float_digits(std::fabs(number), spec);
  } else {
    if (spec.type && std::string_view("dnxXob").find(spec.type) == std::string_view::npos)
      stop("format type '{}' does not fit an integer", spec.type);
    if (spec.precision >= 0) stop("a format of an integer takes no precision");
    const std::int64_t number = *as_integer(value);
    negative = number < 0;
    digits =
        integer_digits(negative ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number), spec);
  }
  if (spec.grouped) digits = group_thousands(digits);
  const char* sign = negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  return pad(budget, Text(digits, value.trusted()), sign, spec, '>', value.trusted());
}

Text format_string(Budget& budget, Text text, const Spec& spec) {
  if (spec.type && spec.type != 's') stop("format type '{}' does not fit a string", spec.type);
  if (spec.align == '=' || spec.grouped) stop("a format for numbers was given a string");
  if (spec.precision >= 0) text = text.sub(0, byte_of(text.bytes(), static_cast<std::size_t>(spec.precision)));
  const bool trusted = text.all_trusted();
  return pad(budget, std::move(text), "", spec, '<', trusted);
}

Text format_value(Budget& budget, const Value& value, std::string_view spec_text) {
  if (spec_text.empty()) return to_text(budget, value);
  const Spec spec = read_spec(spec_text);
  if (value.real() || (as_integer(value) && !(value.boolean() && !spec.type)))
    return format_number(budget, value, spec);
  if (value.string()) return format_string(budget, *value.string(), spec);
  if (value.boolean()) return format_string(budget, to_text(budget, value), spec);
  stop("a value of type {} takes no format", value.type_name());
}

// "0.name[key]" of a replacement field; an empty or missing first part takes the next argument.
Value field_value(Budget& budget, std::string_view field, const Arguments& arguments, std::size_t& next) {
  const std::size_t first_end = std::min(field.find_first_of(".["), field.size());
  const std::string_view first = field.substr(0, first_end);
  Value value;
  if (first.empty() || std::all_of(first.begin(), first.end(), is_digit)) {
    std::size_t at = 0;
    const std::size_t index = first.empty() ? next++ : static_cast<std::size_t>(read_number(first, at));
    if (index >= arguments.positional.size()) stop("format() has no argument {}", index);
    value = arguments.positional[index];
  } else {
    const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& argument) { return argument.first == first; });
    if (named == arguments.named.end()) stop("format() has no argument '{}'", first);
    value = named->second;
  }
  for (std::size_t at = first_end; at < field.size();) {
    if (field[at] == '.') {
      const std::size_t end = std::min(field.find_first_of(".[", at + 1), field.size());
      value = attribute(value, field.substr(at + 1, end - at - 1));
      at = end;
      continue;
    }
    const std::size_t end = field.find(']', at);
    if (field[at] != '[' || end == std::string_view::npos) stop("format field '{}' is not understood", field);
    const std::string_view key = field.substr(at + 1, end - at - 1);
    std::size_t digit = 0;
    const bool number = !key.empty() && std::all_of(key.begin(), key.end(), is_digit);
    value = item(budget, value, number ? Value(read_number(key, digit)) : Value(Text(std::string(key), true)));
    at = end + 1;
  }
  return value;
}

Text percent_value(Budget& budget, const Value& value, Spec spec) {
  switch (spec.type) {
    case 's': return format_string(budget, to_text(budget, value), spec);
    case 'r': spec.type = 's'; return format_string(budget, repr(budget, value), spec);
    case 'd':
    case 'i':
    case 'u': {
      spec.type = 'd';
      spec.precision = -1;
      if (const double* real = value.real()) {
        if (!(std::fabs(*real) < 9e18)) stop("%d needs a number that fits 64 bits, not {}", *real);
        return format_number(budget, Value(static_cast<std::int64_t>(*real), value.trusted()), spec);
      }
      break;
    }
    case 'x':
    case 'X':
    case 'o': spec.precision = -1; break;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G': break;
    default: stop("format type '%{}' is not supported", spec.type);
  }
  if (value.is_undefined()) stop("{}", value.why_undefined());
  if (!as_real(value)) stop("%{} needs a number, not {}", spec.type, value.type_name());
  return format_number(budget, value, spec);
}

// The flags, width, precision and type behind a '%'.
Spec read_percent_spec(std::string_view text, std::size_t& at) {
  Spec spec;
  spec.align = '>';
  for (; at < text.size() && std::string_view("-+ #0").find(text[at]) != std::string_view::npos; ++at) {
    if (text[at] == '-') spec.align = '<';
    if (text[at] == '+') spec.sign = '+';
    if (text[at] == ' ' && spec.sign != '+') spec.sign = ' ';
    if (text[at] == '#') spec.alternate = true;
    if (text[at] == '0' && spec.align != '<') spec.align = '=';
  }
  spec.width = read_number(text, at);
  if (at < text.size() && text[at] == '.') spec.precision = static_cast<int>(read_number(text, ++at));
  if (at >= text.size()) stop("a format ends inside a '%' field");
  spec.type = text[at++];
  if (spec.align == '=') {
    const bool numeric = spec.type != 's' && spec.type != 'r';
    spec.align = numeric ? '=' : '>';
    if (numeric) spec.fill = "0";
  }
  return spec;
}

}  // namespace

Text format_percent(Budget& budget, const Text& format, const Arguments& arguments, const Dict* named, bool lenient) {
  const std::string& bytes = format.bytes();
  Text out;
  std::size_t next = 0, begin = 0;
  for (std::size_t at = bytes.find('%'); at != std::string::npos; at = bytes.find('%', begin)) {
    out.append(format, begin, at);
    const bool literal = at + 1 < bytes.size() && bytes[at + 1] == '%';
    if (literal) {
      out.append(format, at, at + 1);
      begin = at + 2;
      continue;
    }
    ++at;
    const Value* value = nullptr;
    if (at < bytes.size() && bytes[at] == '(') {
      const std::size_t end = bytes.find(')', at);
      if (!named || end == std::string::npos) stop("a '%(name)' field needs a dict");
      value = named->find(std::string_view(bytes).substr(at + 1, end - at - 1));
      if (!value) stop("format has no value '{}'", bytes.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    const Spec spec = read_percent_spec(bytes, at);
    if (!value && next >= arguments.positional.size()) stop("there are fewer values than '%' fields in a format");
    const Text part = percent_value(budget, value ? *value : arguments.positional[next++], spec);
    budget.produce(part.size());
    out.append(format.markup ? escape_html(part) : part);
    begin = at;
  }
  out.append(format, begin, bytes.size());
  if (!lenient && next < arguments.positional.size()) stop("there are more values than '%' fields in a format");
  budget.produce(out.size());
  out.markup = format.markup;
  return out;
}

Text format_braces(Budget& budget, const Text& format, const Arguments& arguments) {
  const std::string& bytes = format.bytes();
  Text out;
  std::size_t next = 0, at = 0;
  while (at < bytes.size()) {
    const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    out.append(format, at, brace);
    if (brace == bytes.size()) break;
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.append(format, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const std::size_t end = bytes.find_first_of("{}", brace + 1);
    if (bytes[brace] == '}' || end == std::string::npos || bytes[end] == '{')
      stop("a format has a single or nested '{}'", bytes[brace]);
    const std::string_view field = std::string_view(bytes).substr(brace + 1, end - brace - 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    const std::size_t mark = std::min(field.substr(0, colon).find('!'), colon);
    const std::string_view conversion = field.substr(mark, colon - mark);
    Value value = field_value(budget, field.substr(0, mark), arguments, next);
    if (conversion == "!r")
      value = Value(repr(budget, value));
    else if (conversion == "!s")
      value = Value(to_text(budget, value));
    else if (!conversion.empty())
      stop("format conversion '{}' is not supported", conversion);
    const Text part = format_value(budget, value, field.substr(std::min(colon + 1, field.size())));
    budget.produce(part.size());
    out.append(format.markup ? escape_html(part) : part);
    at = end + 1;
  }
  budget.produce(out.size());
  out.markup = format.markup;
  return out;
}

}  // namespace shardwise::jinja
