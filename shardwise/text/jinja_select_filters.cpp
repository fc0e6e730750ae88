// map, select, reject, selectattr and rejectattr: filters that apply another filter or a test to each item.
#include "shardwise/text/jinja_filters.h"
#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"

namespace shardwise::jinja {
namespace {

// The arguments that are left for the inner filter or test.
Arguments without_first(const Arguments& arguments, std::size_t count) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count), arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

Value map_attribute(Budget& budget, const Sequence& source, const Arguments& arguments) {
  const Bound bound("map", arguments, {"attribute", "default"});
  std::vector<Value> out;
  for (const Value& member : source.items) {
    budget.charge(1);
    out.push_back(look_up(budget, member, bound.required(0), bound[1]));
  }
  return make_generator(std::move(out));
}

Value map(Budget& budget, const Value& subject, const Arguments& arguments) {
  if (!truthy(subject)) return make_generator({});
  const auto source = iterate(budget, subject);
  if (arguments.positional.empty()) {
    if (arguments.named.empty()) stop("map needs the name of a filter, or an attribute");
    return map_attribute(budget, *source, arguments);
  }
  const std::string name = to_text(budget, arguments.positional[0]).bytes();
  const Arguments rest = without_first(arguments, 1);
  std::vector<Value> out;
  for (const Value& member : source->items) out.push_back(apply_filter(budget, name, member, rest));
  return make_generator(std::move(out));
}

template <bool keep, bool by_attribute>
Value select(Budget& budget, const Value& subject, const Arguments& arguments) {
  if (!truthy(subject)) return make_generator({});
  const std::size_t skipped = by_attribute ? 1 : 0;
  if (arguments.positional.size() < skipped) stop("selectattr needs the name of an attribute");
  const bool tested = arguments.positional.size() > skipped;
  const std::string test = tested ? to_text(budget, arguments.positional[skipped]).bytes() : "";
  const Arguments rest = tested ? without_first(arguments, skipped + 1) : Arguments{};
  std::vector<Value> out;
  const auto source = iterate(budget, subject);
  for (const Value& member : source->items) {
    budget.charge(1);
    const Value looked_at = by_attribute ? look_up(budget, member, arguments.positional[0]) : member;
    const bool holds = tested ? apply_test(budget, test, looked_at, rest) : truthy(looked_at);
    if (holds == keep) out.push_back(member);
  }
  return make_generator(std::move(out));
}

}  // namespace

const FilterTable& select_filters() {
  static const FilterTable kFilters = {
      {"map", map},
      {"select", select<true, false>},
      {"reject", select<false, false>},
      {"selectattr", select<true, true>},
      {"rejectattr", select<false, true>},
  };
  return kFilters;
}

}  // namespace shardwise::jinja
