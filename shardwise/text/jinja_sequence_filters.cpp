// Filters over sequences and dicts. What Python makes lazily is made at once, but still iterates only once.
#include <algorithm>

#include "shardwise/text/jinja_filters.h"
#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"
#include "shardwise/text/jinja_unicode.h"

namespace shardwise::jinja {
namespace {

Value size(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("length", arguments, {});
  const std::optional<std::size_t> size = size_of(budget, subject);
  if (!size) stop("an object of type '{}' has no length", subject.type_name());
  return Value::count(*size);
}

Value first(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("first", arguments, {});
  const Value none = Value::undefined("no first item: the sequence was empty");
  if (const Text* text = subject.string())
    return text->empty() ? none : Value(text->sub(0, character_at(text->bytes(), 0).size));
  const Sequence* sequence = subject.sequence();
  if (sequence && sequence->kind == Sequence::Kind::Generator)
    return sequence->taken < sequence->items.size() ? sequence->items[sequence->taken++] : none;
  const auto items = iterate(budget, subject);
  return items->items.empty() ? none : items->items.front();
}

Value last(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("last", arguments, {});
  const Value none = Value::undefined("no last item: the sequence was empty");
  if (const Text* text = subject.string())
    return text->empty() ? none : Value(text->sub(start_of_last(text->bytes(), text->size()), text->size()));
  if (subject.sequence() && subject.sequence()->kind == Sequence::Kind::Generator)
    stop("last: a generator cannot be read backwards");
  const auto items = iterate(budget, subject);
  return items->items.empty() ? none : items->items.back();
}

Value listed(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("list", arguments, {});
  const auto items = iterate(budget, subject);
  budget.charge(items->items.size());
  return make_list(items->items, subject.container_trusted());
}

Value items_of(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("items", arguments, {});
  if (subject.is_undefined()) return make_generator({});
  if (!subject.dict()) stop("items needs a dict, not {}", subject.type_name());
  budget.charge(subject.dict()->items().size());
  std::vector<Value> pairs;
  for (const auto& [key, value] : subject.dict()->items())
    pairs.push_back(make_tuple({key, value}).with_trust(subject.container_trusted()));
  return make_generator(std::move(pairs));
}

// Items in the order of their keys; equal keys keep their order, also when reversed.
std::vector<Value> sorted(Budget& budget, std::vector<Value> items, const std::vector<Value>& keys, bool reverse) {
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return reverse ? less(budget, keys[b], keys[a]) : less(budget, keys[a], keys[b]);
  });
  std::vector<Value> out;
  out.reserve(items.size());
  for (const std::size_t i : order) out.push_back(std::move(items[i]));
  return out;
}

Value dict_sorted(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  if (subject.is_undefined()) stop("{}", subject.why_undefined());
  if (!subject.dict()) stop("dictsort needs a dict, not {}", subject.type_name());
  const std::string by = bound[1] && bound[1]->string() ? bound[1]->string()->bytes() : "key";
  if (by != "key" && by != "value") stop("dictsort sorts by key or by value, not by '{}'", by);
  std::vector<Value> pairs, keys;
  for (const auto& [key, value] : subject.dict()->items()) {
    budget.charge(2);
    pairs.push_back(make_tuple({key, value}).with_trust(subject.container_trusted()));
    const Value& sort_key = by == "key" ? key : value;
    keys.push_back(bound.truth_or(0, false) ? sort_key : ignore_case(budget, sort_key));
  }
  return make_list(sorted(budget, std::move(pairs), keys, bound.truth_or(2, false)));
}

Value sort(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const bool exact = bound.truth_or(1, false);
  std::vector<Value> paths{bound.given(2) ? *bound[2] : Value(None{})};
  if (const Text* text = paths[0].string()) {
    const Value comma{Text(",", true)};
    Arguments by_comma;
    by_comma.positional.push_back(comma);
    paths = iterate(budget, attribute(Value(*text), "split").object()->call(budget, by_comma))->items;
  }
  const auto source = iterate(budget, subject);
  std::vector<Value> keys;
  for (const Value& member : source->items) {
    budget.charge(2);
    std::vector<Value> parts;
    for (const Value& path : paths) {
      Value part = look_up(budget, member, path);
      parts.push_back(exact ? part : ignore_case(budget, part));
    }
    keys.push_back(make_list(std::move(parts)));
  }
  return make_list(sorted(budget, source->items, keys, bound.truth_or(0, false)), subject.container_trusted());
}

Value unique(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const bool exact = bound.truth_or(0, false);
  Dict seen;
  std::vector<Value> out;
  const auto source = iterate(budget, subject);
  for (const Value& member : source->items) {
    budget.charge(2);
    Value key = bound.given(1) ? look_up(budget, member, *bound[1]) : member;
    if (!exact) key = ignore_case(budget, key);
    if (seen.find(key)) continue;
    seen.set(key, Value(true));
    out.push_back(member);
  }
  return make_generator(std::move(out));
}

Value reversed(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("reverse", arguments, {});
  if (subject.string()) return slice(budget, subject, Value(None{}), Value(None{}), Value(std::int64_t{-1}));
  const bool generator = subject.sequence() && subject.sequence()->kind == Sequence::Kind::Generator;
  const auto source = iterate(budget, subject);
  budget.charge(source->items.size());
  std::vector<Value> out(source->items.rbegin(), source->items.rend());
  return generator ? make_list(std::move(out)) : make_generator(std::move(out));
}

std::size_t positive_count(const Bound& bound, std::string_view filter) {
  bound.required(0);
  const std::int64_t count = bound.integer_or(0, 0);
  if (count <= 0 || count > 1'000'000) stop("{}: the count must lie between 1 and a million, not {}", filter, count);
  return static_cast<std::size_t>(count);
}

Value batched(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"});
  const std::size_t count = positive_count(bound, "batch");
  std::vector<Value> out, row;
  const auto source = iterate(budget, subject);
  for (const Value& member : source->items) {
    budget.charge(2);
    row.push_back(member);
    if (row.size() < count) continue;
    out.push_back(make_list(std::exchange(row, {})));
  }
  if (!row.empty()) {
    budget.charge(count);
    if (bound.given(1)) row.resize(count, *bound[1]);
    out.push_back(make_list(std::move(row)));
  }
  return make_generator(std::move(out));
}

Value sliced(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("slice", arguments, {"slices", "fill_with"});
  const std::size_t count = positive_count(bound, "slice");
  const auto source = iterate(budget, subject);
  budget.charge(source->items.size() + count);
  const std::size_t whole = source->items.size() / count, extra = source->items.size() % count;
  std::vector<Value> out;
  auto at = source->items.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = at + static_cast<std::ptrdiff_t>(whole + (i < extra ? 1 : 0));
    std::vector<Value> part(at, end);
    if (bound.given(1) && i >= extra) part.push_back(*bound[1]);
    out.push_back(make_list(std::move(part)));
    at = end;
  }
  return make_generator(std::move(out));
}

Value grouped(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"});
  const bool exact = bound.truth_or(2, false);
  const auto source = iterate(budget, subject);
  std::vector<Value> keys, pairs;
  for (const Value& member : source->items) {
    const Value real_key = look_up(budget, member, bound.required(0), bound[1]);
    keys.push_back(exact ? real_key : ignore_case(budget, real_key));
    pairs.push_back(make_tuple({keys.back(), real_key, member}));
  }
  std::vector<Value> out, group;
  const std::vector<Value> ordered = sorted(budget, std::move(pairs), keys, false);
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    budget.charge(4);
    const auto& row = ordered[i].sequence()->items;
    group.push_back(row[2]);
    const bool more = i + 1 < ordered.size() && equal(budget, ordered[i + 1].sequence()->items[0], row[0]);
    if (more) continue;
    const Value& name = ordered[i + 1 - group.size()].sequence()->items[1];
    out.push_back(make_tuple({name, make_list(std::exchange(group, {}))}));
  }
  return make_list(std::move(out));
}

Value or_default(Budget&, const Value& subject, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool missing = subject.is_undefined() || (bound.truth_or(1, false) && !truthy(subject));
  if (!missing) return subject;
  return bound[0] ? *bound[0] : Value(Text());
}

Value attr(Budget& budget, const Value& subject, const Arguments& arguments) {
  const Bound bound("attr", arguments, {"name"});
  const std::string name = to_text(budget, bound.required(0)).bytes();
  if (subject.dict() && subject.dict()->find(name) && !name.starts_with("__")) {
    // An attribute is wanted, never an item: only a method could answer.
    const Value empty = make_dict(Dict());
    return attribute(empty, name);
  }
  return attribute(subject, name);
}

}  // namespace

const FilterTable& sequence_filters() {
  static const FilterTable kFilters = {
      {"length", size},     {"count", size},     {"first", first},  {"last", last},
      {"list", listed},     {"items", items_of}, {"sort", sort},    {"dictsort", dict_sorted},
      {"unique", unique},   {"batch", batched},  {"slice", sliced}, {"reverse", reversed},
      {"groupby", grouped}, {"attr", attr},      {"d", or_default}, {"default", or_default},
  };
  return kFilters;
}

}  // namespace shardwise::jinja
