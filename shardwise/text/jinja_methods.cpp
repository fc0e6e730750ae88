// Methods of dicts and lists, and the object that a method is until it is called.
#include "shardwise/text/jinja_methods.h"

#include <algorithm>
#include <initializer_list>

#include "shardwise/text/jinja_operators.h"

namespace shardwise::jinja {
namespace {

bool among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool list_or_tuple(const Value& value) {
  const Sequence* s = value.sequence();
  return s && s->indexable() && s->kind != Sequence::Kind::Range;
}

Value view_of(const Dict& dict, Sequence::Kind kind, bool trusted) {
  std::vector<Value> items;
  items.reserve(dict.items().size());
  for (const auto& [key, value] : dict.items()) {
    if (kind == Sequence::Kind::Keys) items.push_back(key);
    if (kind == Sequence::Kind::Values) items.push_back(value);
    if (kind == Sequence::Kind::Items) items.push_back(make_tuple({key, value}).with_trust(trusted));
  }
  return Value(std::make_shared<const Sequence>(kind, std::move(items)), trusted);
}

Value call_dict_method(Budget& budget, const Value& value, std::string_view name, const Arguments& arguments) {
  const Dict& dict = *value.dict();
  budget.charge(1);
  if (name == "get") {
    const Bound bound("get", arguments, {"key", "default"});
    const Value* found = dict.find(bound.required(0));
    return found ? *found : bound[1] ? *bound[1] : Value(None{});
  }
  const Bound bound(name, arguments, {});
  budget.charge(dict.items().size());
  if (name == "keys") return view_of(dict, Sequence::Kind::Keys, value.container_trusted());
  if (name == "values") return view_of(dict, Sequence::Kind::Values, value.container_trusted());
  if (name == "items") return view_of(dict, Sequence::Kind::Items, value.container_trusted());
  if (name == "copy") return value;
  stop("the dict method '{}' is not supported", name);
}

Value call_list_method(Budget& budget, const Value& value, std::string_view name, const Arguments& arguments) {
  const auto& items = value.sequence()->items;
  if (name == "copy") return value;
  const Bound bound(name, arguments, {"value"});
  const Value& sought = bound.required(0);
  std::size_t count = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!equal(budget, items[i], sought)) continue;
    if (name == "index") return Value::count(i);
    ++count;
  }
  if (name == "index") stop("the value is not in the list");
  return Value::count(count);
}

class BoundMethod final : public Object {
 public:
  BoundMethod(Value subject, std::string name) : subject_(std::move(subject)), name_(std::move(name)) {
    if (subject_.depth() + 1 > kMaxValueDepth) stop("a value nests deeper than {} levels, the limit", kMaxValueDepth);
  }
  std::string type_name() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  std::size_t depth() const override { return subject_.depth() + 1; }
  Value call(Budget& budget, const Arguments& arguments) override {
    if (const Text* text = subject_.string()) return call_string_method(budget, *text, name_, arguments);
    if (subject_.dict()) return call_dict_method(budget, subject_, name_, arguments);
    return call_list_method(budget, subject_, name_, arguments);
  }

 private:
  const Value subject_;
  const std::string name_;
};

}  // namespace

bool has_method(const Value& value, std::string_view name) {
  if (value.string()) return has_string_method(name);
  if (value.dict())
    return among(name, {"get", "items", "keys", "values", "copy", "fromkeys"}) || is_refused(value, name);
  if (!list_or_tuple(value)) return false;
  const bool list = value.sequence()->kind == Sequence::Kind::List;
  return among(name, {"index", "count"}) || (list && (name == "copy" || is_refused(value, name)));
}

bool is_refused(const Value& value, std::string_view name) {
  if (value.dict()) return among(name, {"clear", "pop", "popitem", "setdefault", "update"});
  return value.sequence() && value.sequence()->kind == Sequence::Kind::List &&
         among(name, {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"});
}

Value bind_method(const Value& value, std::string_view name) {
  return Value(std::make_shared<BoundMethod>(value, std::string(name)));
}

}  // namespace shardwise::jinja
