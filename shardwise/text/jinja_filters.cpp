// Filters by name, and the paths that many of them look up in items.
#include "shardwise/text/jinja_filters.h"

#include <algorithm>
#include <array>

#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_operators.h"

namespace shardwise::jinja {
namespace {

Filter find_filter(std::string_view name) {
  for (const FilterTable* table : {&string_filters(), &sequence_filters(), &select_filters(), &number_filters()})
    if (const auto found = table->find(name); found != table->end()) return found->second;
  return nullptr;
}

}  // namespace

bool has_filter(std::string_view name) { return find_filter(name) != nullptr; }

Value apply_filter(Budget& budget, std::string_view name, const Value& subject, const Arguments& arguments) {
  const Filter filter = find_filter(name);
  if (!filter) stop("there is no filter named '{}'", name);
  budget.charge(1);
  return filter(budget, subject, arguments);
}

Value look_up(Budget& budget, const Value& subject, const Value& path, const Value* otherwise) {
  Value found = subject;
  const auto step = [&](const Value& key) {
    found = item(budget, found, key);
    if (otherwise && !otherwise->is_none() && found.is_undefined()) found = *otherwise;
  };
  if (path.is_none()) return found;
  const Text* text = path.string();
  if (!text) {
    step(path);
    return found;
  }
  const Text dot(".", true);
  for (const Text& part : split(budget, *text, &dot, -1)) {
    const std::string& bytes = part.bytes();
    const bool number = !bytes.empty() && bytes.size() < 10 &&
                        std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= '0' && c <= '9'; });
    step(number ? Value(static_cast<std::int64_t>(std::stol(bytes))) : Value(part));
  }
  return found;
}

Value ignore_case(Budget& budget, const Value& value) {
  return value.string() ? Value(lower(budget, *value.string())) : value;
}

}  // namespace shardwise::jinja
