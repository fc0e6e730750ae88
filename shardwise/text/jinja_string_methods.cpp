// The methods of str by name. Invariant: what has_string_method names and is not called here is refused by name.
#include <algorithm>
#include <array>

#include "shardwise/text/jinja_format.h"
#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"
#include "shardwise/text/jinja_unicode.h"

namespace shardwise::jinja {
namespace {

constexpr std::array<std::string_view, 47> kNames = {
    "capitalize",   "casefold",   "center",    "count",       "encode",    "endswith",     "expandtabs",   "find",
    "format",       "format_map", "index",     "isalnum",     "isalpha",   "isascii",      "isdecimal",    "isdigit",
    "isidentifier", "islower",    "isnumeric", "isprintable", "isspace",   "istitle",      "isupper",      "join",
    "ljust",        "lower",      "lstrip",    "maketrans",   "partition", "removeprefix", "removesuffix", "replace",
    "rfind",        "rindex",     "rjust",     "rpartition",  "rsplit",    "rstrip",       "split",        "splitlines",
    "startswith",   "strip",      "swapcase",  "title",       "translate", "upper",        "zfill"};

using Method = Value (*)(Budget&, const Text&, const Arguments&);

const Text* text_or_none(const Bound& bound, std::size_t parameter, std::string_view callee) {
  if (!bound.given(parameter)) return nullptr;
  const Text* text = bound[parameter]->string();
  if (!text) stop("{} needs a string, not {}", callee, bound[parameter]->type_name());
  return text;
}

const Text& text_required(const Bound& bound, std::size_t parameter, std::string_view callee) {
  const Text* text = bound.required(parameter).string();
  if (!text) stop("{} needs a string, not {}", callee, bound[parameter]->type_name());
  return *text;
}

Value list_of(std::vector<Text> parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts) items.emplace_back(std::move(part));
  return make_list(std::move(items));
}

template <Side side>
Value strip_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("strip", arguments, {"chars"});
  return Value(strip(budget, text, text_or_none(bound, 0, "strip"), side));
}

template <bool from_right>
Value split_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("split", arguments, {"sep", "maxsplit"});
  const Text* separator = text_or_none(bound, 0, "split");
  const std::int64_t limit = bound.integer_or(1, -1);
  return list_of(from_right ? split_from_right(budget, text, separator, limit) : split(budget, text, separator, limit));
}

// The part of `text` that start and end, in characters, leave; and the byte where it begins.
struct Window {
  Text text;
  std::size_t characters_before;
  bool possible;  // Python finds nothing, not even "", past the end
};
Window window_of(Budget& budget, const Text& text, const Bound& bound) {
  if (!bound.given(1) && !bound.given(2)) return {text, 0, true};
  const auto size = static_cast<std::int64_t>(length(text.bytes()));
  const auto edge = [&](std::size_t parameter, std::int64_t otherwise) {
    std::int64_t at = bound.given(parameter) ? bound.integer_or(parameter, 0) : otherwise;
    if (at < 0) at = at < -size ? 0 : at + size;
    return at;
  };
  const std::int64_t start = edge(1, 0), end = std::min(edge(2, size), size);
  budget.produce(text.size());
  if (start > end) return {Text(), 0, false};
  const std::size_t begin = byte_of(text.bytes(), static_cast<std::size_t>(start));
  return {text.sub(begin, byte_of(text.bytes(), static_cast<std::size_t>(end))), static_cast<std::size_t>(start), true};
}

template <bool at_start>
Value affix_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const std::string_view callee = at_start ? "startswith" : "endswith";
  const Bound bound(callee, arguments, {at_start ? "prefix" : "suffix", "start", "end"});
  const Window window = window_of(budget, text, bound);
  budget.scan(text.size());
  const auto fits = [&](const Value& value) {
    if (!value.string()) stop("{} needs a string or a tuple of strings, not {}", callee, value.type_name());
    const std::string& part = value.string()->bytes();
    return window.possible && (at_start ? window.text.bytes().starts_with(part) : window.text.bytes().ends_with(part));
  };
  const Sequence* options = bound.required(0).sequence();
  if (options && options->kind == Sequence::Kind::Tuple)
    return Value(std::any_of(options->items.begin(), options->items.end(), fits));
  return Value(fits(*bound[0]));
}

template <bool from_right, bool must_find>
Value find_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("find", arguments, {"sub", "start", "end"});
  const Text& part = text_required(bound, 0, "find");
  const Window window = window_of(budget, text, bound);
  budget.scan(text.size());
  if (from_right) budget.charge(text.size() * std::min<std::size_t>(part.size(), 4096) / 256);
  const std::string& bytes = window.text.bytes();
  std::size_t hit = from_right ? bytes.rfind(part.bytes()) : find_bytes(bytes, part.bytes(), 0);
  if (!window.possible) hit = std::string::npos;
  if (hit == std::string::npos && must_find) stop("substring not found");
  if (hit == std::string::npos) return Value(std::int64_t{-1});
  return Value::count(window.characters_before + length(std::string_view(bytes).substr(0, hit)));
}

Value count_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("count", arguments, {"sub", "start", "end"});
  const Text& part = text_required(bound, 0, "count");
  const Window window = window_of(budget, text, bound);
  budget.scan(text.size());
  if (!window.possible) return Value(std::int64_t{0});
  if (part.empty()) return Value::count(length(window.text.bytes()) + 1);
  std::size_t count = 0;
  for (std::size_t at = 0;; ++count) {
    at = find_bytes(window.text.bytes(), part.bytes(), at);
    if (at == std::string_view::npos) return Value::count(count);
    budget.charge(1);
    at += part.size();
  }
}

Value replace_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"});
  return Value(replace(budget, text, text_required(bound, 0, "replace"), text_required(bound, 1, "replace"),
                       bound.integer_or(2, -1)));
}

Value join_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("join", arguments, {"iterable"});
  std::vector<Text> parts;
  const auto source = iterate(budget, bound.required(0));
  for (const Value& value : source->items) {
    if (!value.string()) stop("join needs strings, found {}", value.type_name());
    parts.push_back(*value.string());
  }
  Text joined = join(budget, text, parts);
  joined.markup = text.markup;
  return Value(std::move(joined));
}

Value split_lines_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("splitlines", arguments, {"keepends"});
  return list_of(split_lines(budget, text, bound.truth_or(0, false)));
}

template <bool from_right>
Value partition_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("partition", arguments, {"sep"});
  const Text& separator = text_required(bound, 0, "partition");
  const std::vector<Text> parts =
      from_right ? split_from_right(budget, text, &separator, 1) : split(budget, text, &separator, 1);
  const Value empty{Text()};
  if (parts.size() == 2) return make_tuple({Value(parts[0]), Value(separator), Value(parts[1])});
  return from_right ? make_tuple({empty, empty, Value(text)}) : make_tuple({Value(text), empty, empty});
}

template <bool prefix>
Value remove_affix_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("removeprefix", arguments, {"affix"});
  const std::size_t size = text_required(bound, 0, "removeprefix").size();
  const std::string& affix = bound[0]->string()->bytes();
  budget.produce(text.size());
  if (prefix && text.bytes().starts_with(affix)) return Value(text.sub(size, text.size()));
  if (!prefix && text.bytes().ends_with(affix)) return Value(text.sub(0, text.size() - size));
  return Value(text);
}

template <Side padded>
Value pad_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width", "fillchar"});
  bound.required(0);
  const Text* fill = text_or_none(bound, 1, "center");
  if (fill && length(fill->bytes()) != 1) stop("the fill must be one character");
  Text out = center(budget, text, bound.integer_or(0, 0), fill ? fill->bytes() : " ", padded);
  if (!fill || fill->all_trusted()) return Value(std::move(out));
  return Value(out.untrusted());
}

template <Text (*turn)(Budget&, const Text&)>
Value turn_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("the method", arguments, {});
  return Value(turn(budget, text));
}

// Python's str.title: a capital after whatever is no letter; swapcase: each letter in its other case.
template <bool swap>
Text retitled(Budget& budget, const Text& text) {
  Text out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text.bytes(), at);
    const Text one = text.sub(at, at + c.size);
    const bool raise = swap ? is_lower(c.point) : !inside;
    budget.charge(1);
    out.append(raise ? upper(budget, one) : lower(budget, one));
    inside = c.valid && is_alpha(c.point);
    at += c.size;
  }
  return out;
}

bool ascii_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char32_t c) { return is_alpha(c) || ascii_digit(c); }

template <bool (*belongs)(char32_t)>
Value all_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("the method", arguments, {});
  budget.scan(text.size());
  for (std::size_t at = 0; at < text.size(); at += character_at(text.bytes(), at).size)
    if (!belongs(character_at(text.bytes(), at).point)) return Value(false);
  return Value(!text.empty());
}

// At least one letter, and no letter of the other case.
template <bool upper_case>
Value case_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("the method", arguments, {});
  budget.scan(text.size());
  bool any = false;
  for (std::size_t at = 0; at < text.size(); at += character_at(text.bytes(), at).size) {
    const char32_t c = character_at(text.bytes(), at).point;
    if (upper_case ? is_lower(c) : is_upper(c)) return Value(false);
    any = any || (upper_case ? is_upper(c) : is_lower(c));
  }
  return Value(any);
}

Value ascii_method(Budget& budget, const Text& text, const Arguments&) {
  budget.scan(text.size());
  return Value(std::all_of(text.bytes().begin(), text.bytes().end(), [](char c) { return (c & 0x80) == 0; }));
}

Value format_method(Budget& budget, const Text& text, const Arguments& arguments) {
  return Value(format_braces(budget, text, arguments));
}

Value zfill_method(Budget& budget, const Text& text, const Arguments& arguments) {
  const Bound bound("zfill", arguments, {"width"});
  bound.required(0);
  const bool sign = text.bytes().starts_with("-") || text.bytes().starts_with("+");
  Text out = text.sub(0, sign ? 1 : 0);
  const std::int64_t width = std::clamp<std::int64_t>(bound.integer_or(0, 0), 0, INT64_MAX) - (sign ? 1 : 0);
  out.append(center(budget, text.sub(sign ? 1 : 0, text.size()), width, "0", Side::Left));
  return Value(std::move(out));
}

const std::unordered_map<std::string_view, Method>& methods() {
  static const std::unordered_map<std::string_view, Method> kMethods = {
      {"strip", strip_method<Side::Both>},
      {"lstrip", strip_method<Side::Left>},
      {"rstrip", strip_method<Side::Right>},
      {"split", split_method<false>},
      {"rsplit", split_method<true>},
      {"splitlines", split_lines_method},
      {"startswith", affix_method<true>},
      {"endswith", affix_method<false>},
      {"find", find_method<false, false>},
      {"rfind", find_method<true, false>},
      {"index", find_method<false, true>},
      {"rindex", find_method<true, true>},
      {"count", count_method},
      {"replace", replace_method},
      {"join", join_method},
      {"partition", partition_method<false>},
      {"rpartition", partition_method<true>},
      {"removeprefix", remove_affix_method<true>},
      {"removesuffix", remove_affix_method<false>},
      {"center", pad_method<Side::Both>},
      {"ljust", pad_method<Side::Right>},
      {"rjust", pad_method<Side::Left>},
      {"zfill", zfill_method},
      {"upper", turn_method<upper>},
      {"lower", turn_method<lower>},
      {"casefold", turn_method<lower>},
      {"capitalize", turn_method<capitalize>},
      {"title", turn_method<retitled<false>>},
      {"swapcase", turn_method<retitled<true>>},
      {"isdigit", all_method<ascii_digit>},
      {"isdecimal", all_method<ascii_digit>},
      {"isnumeric", all_method<ascii_digit>},
      {"isspace", all_method<is_space>},
      {"isalpha", all_method<is_alpha>},
      {"isalnum", all_method<is_alphanumeric>},
      {"isupper", case_method<true>},
      {"islower", case_method<false>},
      {"isascii", ascii_method},
      {"format", format_method},
  };
  return kMethods;
}

}  // namespace

bool has_string_method(std::string_view name) { return std::find(kNames.begin(), kNames.end(), name) != kNames.end(); }

Value call_string_method(Budget& budget, const Text& text, std::string_view name, const Arguments& arguments) {
  const auto method = methods().find(name);
  if (method == methods().end()) stop("the string method '{}' is not supported", name);
  return method->second(budget, text, arguments);
}

}  // namespace shardwise::jinja
