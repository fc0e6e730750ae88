// Filters that make strings.
#include <algorithm>

#include "shardwise/text/jinja_filters.h"
#include "shardwise/text/jinja_format.h"
#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"
#include "shardwise/text/jinja_unicode.h"

namespace shardwise::jinja {
namespace {

template <Text (*turn)(Budget&, const Text&)>
Value turned(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("the filter", arguments, {});
  return Value(turn(budget, to_text(budget, subject)));
}

const Text& string_of(std::string_view filter, const Value& value) {
  if (value.is_undefined()) stop("{}", value.why_undefined());
  if (!value.string()) stop("the filter '{}' needs a string, not {}", filter, value.type_name());
  return *value.string();
}

Text titled(Budget& budget, const Text& text) {
  budget.charge(text.size());
  Text out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text.bytes(), at);
    const Text one = text.sub(at, at + c.size);
    const bool separator =
        is_space(c.point) ||
        (c.point < 0x80 && std::string_view("-({[<").find(static_cast<char>(c.point)) != std::string_view::npos);
    out.append(inside ? lower(budget, one) : upper(budget, one));
    inside = !separator;
    at += c.size;
  }
  out.markup = text.markup;
  return out;
}

Value trim(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("trim", arguments, {"chars"});
  const Text text = to_text(budget, subject);
  if (!bound.given(0)) return Value(strip(budget, text, nullptr, Side::Both));
  return Value(strip(budget, text, &string_of("trim", *bound[0]), Side::Both));
}

Value replaced(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"});
  Text text = to_text(budget, subject);
  text.markup = false;  // without autoescape this filter takes plain strings
  return Value(replace(budget, text, to_text(budget, bound.required(0)), to_text(budget, bound.required(1)),
                       bound.given(2) ? bound.integer_or(2, -1) : -1));
}

Value as_string(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("string", arguments, {});
  return Value(to_text(budget, subject));
}

Value safe(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("safe", arguments, {});
  Text text = to_text(budget, subject);
  text.markup = true;
  return Value(std::move(text));
}

template <bool always>
Value escaped(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("escape", arguments, {});
  const Text text = to_text(budget, subject);
  budget.produce(text.size() * 5);
  return Value(text.markup && !always ? text : escape_html(text));
}

Value indented(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  Text text = string_of("indent", subject);
  const bool markup = text.markup;
  Text indention =
      bound[0] && bound[0]->string() ? *bound[0]->string() : repeat(budget, Text(" ", true), bound.integer_or(0, 4));
  text.append("\n", true);
  const std::vector<Text> lines = split_lines(budget, text, false);
  const bool blank = bound.truth_or(2, false);
  Text out;
  if (bound.truth_or(1, false)) out.append(indention);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    budget.charge(1 + (lines[i].size() + indention.size()) / 64);
    budget.check_size(out.size() + lines[i].size() + indention.size());
    if (i > 0) out.append("\n", true);
    if (i > 0 && (blank || !lines[i].empty())) out.append(indention);
    out.append(lines[i]);
  }
  out.markup = markup;
  return Value(std::move(out));
}

Value formatted(Budget& budget, const Value& subject, const Arguments& arguments) {
  if (arguments.named.empty())
    return Value(format_percent(budget, to_text(budget, subject), arguments, nullptr, false));
  if (!arguments.positional.empty()) stop("format takes values by position or by name, not both");
  Dict named;
  for (const auto& [name, value] : arguments.named) named.set(Value(Text(name, true)), value);
  return Value(format_percent(budget, to_text(budget, subject), arguments, &named, true));
}

Value centered(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  return Value(center(budget, to_text(budget, subject), bound.integer_or(0, 80), " ", Side::Both));
}

Value truncated(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const Text end = bound.given(2) ? string_of("truncate", *bound[2]) : Text("...", true);
  const std::int64_t limit = bound.integer_or(0, 255), leeway = bound.given(3) ? bound.integer_or(3, 5) : 5;
  const auto end_size = static_cast<std::int64_t>(length(end.bytes()));
  if (limit < end_size || leeway < 0) stop("truncate: a length of {} cannot hold the ending", limit);
  const auto size = static_cast<std::int64_t>(size_of(budget, subject).value_or(SIZE_MAX / 2));
  if (size <= limit || size - limit <= leeway) return subject;
  const Text& text = string_of("truncate", subject);
  Text head = text.sub(0, byte_of(text.bytes(), static_cast<std::size_t>(limit - end_size)));
  if (!bound.truth_or(1, false)) {
    const std::size_t space = head.bytes().rfind(' ');
    if (space != std::string::npos) head = head.sub(0, space);
  }
  budget.produce(head.size() + end.size());
  head.append(end);
  return Value(std::move(head));
}

Value word_count(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("wordcount", arguments, {});
  const Text text = to_text(budget, subject);
  budget.charge(text.size() / 8);
  std::size_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); at += character_at(text.bytes(), at).size) {
    const char32_t c = character_at(text.bytes(), at).point;
    const bool word = is_alpha(c) || (c >= '0' && c <= '9') || c == '_';
    if (word && !inside) ++words;
    inside = word;
  }
  return Value::count(words);
}

Value joined(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  std::vector<Text> parts;
  const auto source = iterate(budget, subject);
  for (const Value& item : source->items)
    parts.push_back(to_text(budget, bound.given(1) ? look_up(budget, item, *bound[1]) : item));
  return Value(join(budget, bound[0] ? to_text(budget, *bound[0]) : Text(), parts));
}

Value as_json(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.truth_or(0, false);
  style.sort_keys = bound.truth_or(3, false);
  if (bound.given(1)) {
    style.lines = true;
    style.item_separator = Text(",", true);
    style.indent = bound[1]->string() ? *bound[1]->string() : repeat(budget, Text(" ", true), bound.integer_or(1, 0));
  }
  if (bound.given(2)) {
    const auto pair = iterate(budget, *bound[2]);
    if (pair->items.size() != 2) stop("tojson: 'separators' must be two strings");
    style.item_separator = string_of("tojson", pair->items[0]);
    style.key_separator = string_of("tojson", pair->items[1]);
  }
  return Value(to_json(budget, subject, style));
}

}  // namespace

const FilterTable& string_filters() {
  static const FilterTable kFilters = {
      {"upper", turned<upper>},
      {"lower", turned<lower>},
      {"capitalize", turned<capitalize>},
      {"title", turned<titled>},
      {"trim", trim},
      {"replace", replaced},
      {"string", as_string},
      {"safe", safe},
      {"escape", escaped<false>},
      {"e", escaped<false>},
      {"forceescape", escaped<true>},
      {"indent", indented},
      {"format", formatted},
      {"center", centered},
      {"truncate", truncated},
      {"wordcount", word_count},
      {"join", joined},
      {"tojson", as_json},
  };
  return kFilters;
}

}  // namespace shardwise::jinja
