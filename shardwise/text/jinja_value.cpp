// Values, keys of dicts, and JSON as values.
#include "shardwise/text/jinja_value.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "shardwise/text/jinja_operators.h"

namespace shardwise::jinja {
namespace {

std::size_t depth_over(const std::vector<Value>& items) {
  std::size_t deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, item.depth());
  if (deepest + 1 > kMaxValueDepth) stop("a value nests deeper than {} levels, the limit", kMaxValueDepth);
  return deepest + 1;
}

// One string for every key that Python takes to be the same: 1, 1.0 and True are one key.
std::string key_of(const Value& key) {
  if (const Text* text = key.string()) return "s" + text->bytes();
  if (const bool* b = key.boolean()) return *b ? "n1" : "n0";
  if (const std::int64_t* i = key.integer()) return "n" + std::to_string(*i);
  if (const double* d = key.real()) {
    if (std::floor(*d) == *d && std::fabs(*d) < 9e18) return "n" + std::to_string(static_cast<std::int64_t>(*d));
    return fmt::format("f{}", *d);
  }
  if (key.is_none()) return "0";
  if (key.is_undefined()) return "u";
  const Sequence* sequence = key.sequence();
  if (sequence && sequence->kind == Sequence::Kind::Tuple) {
    std::string out = "t";
    for (const Value& item : sequence->items) {
      const std::string part = key_of(item);
      if (out.size() + part.size() > 65536) stop("a tuple used as a key is too large");
      out += fmt::format("{}:{}", part.size(), part);
    }
    return out;
  }
  if (key.object()) return fmt::format("o{}", static_cast<const void*>(key.object()));
  stop("unhashable type: '{}'", key.type_name());
}

std::string python_kind(Sequence::Kind kind) {
  switch (kind) {
    case Sequence::Kind::List: return "list";
    case Sequence::Kind::Tuple: return "tuple";
    case Sequence::Kind::Range: return "range";
    case Sequence::Kind::Keys: return "dict_keys";
    case Sequence::Kind::Values: return "dict_values";
    case Sequence::Kind::Items: return "dict_items";
    case Sequence::Kind::Generator: return "generator";
  }
  return "";
}

Value json_at(const nlohmann::ordered_json& json, bool trusted, std::size_t depth) {
  if (depth > kMaxValueDepth) stop("the input nests deeper than {} levels, the limit", kMaxValueDepth);
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::null: return Value(None{}).with_trust(trusted);
    case Type::boolean: return Value(json.get<bool>(), trusted);
    case Type::number_integer: return Value(json.get<std::int64_t>(), trusted);
    case Type::number_float: return Value(json.get<double>(), trusted);
    case Type::string: return Value(Text(json.get_ref<const std::string&>(), trusted));
    case Type::number_unsigned: {
      const auto n = json.get<std::uint64_t>();
      if (n > static_cast<std::uint64_t>(INT64_MAX)) return Value(static_cast<double>(n), trusted);
      return Value(static_cast<std::int64_t>(n), trusted);
    }
    case Type::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(json_at(item, trusted, depth + 1));
      return make_list(std::move(items), trusted);
    }
    case Type::object: {
      Dict dict;
      for (const auto& item : json.items())
        dict.set(Value(Text(item.key(), trusted)), json_at(item.value(), trusted, depth + 1));
      return make_dict(std::move(dict), trusted);
    }
    case Type::binary:
    case Type::discarded: break;
  }
  stop("the input holds a JSON value of a kind that templates cannot see");
}

}  // namespace

Value Value::undefined(std::string why) {
  Value out;
  out.is_ = Undefined{std::make_shared<const std::string>(std::move(why))};
  return out;
}

const Text* Value::string() const {
  const auto* held = std::get_if<std::shared_ptr<const Text>>(&is_);
  return held ? held->get() : nullptr;
}
std::shared_ptr<const Sequence> Value::shared_sequence() const {
  const auto* held = std::get_if<std::shared_ptr<const Sequence>>(&is_);
  return held ? *held : nullptr;
}
const Sequence* Value::sequence() const {
  const auto* held = std::get_if<std::shared_ptr<const Sequence>>(&is_);
  return held ? held->get() : nullptr;
}
const Dict* Value::dict() const {
  const auto* held = std::get_if<std::shared_ptr<const Dict>>(&is_);
  return held ? held->get() : nullptr;
}
Object* Value::object() const {
  const auto* held = std::get_if<std::shared_ptr<Object>>(&is_);
  return held ? held->get() : nullptr;
}

const std::string& Value::why_undefined() const {
  static const std::string kUnknown = "a value is undefined";
  const auto& why = std::get<Undefined>(is_).why;
  return why ? *why : kUnknown;
}

bool Value::trusted() const { return string() ? string()->all_trusted() : trusted_; }

Value Value::with_trust(bool trusted) const {
  Value out = *this;
  out.trusted_ = trusted;
  return out;
}

std::string Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (boolean()) return "bool";
  if (integer()) return "int";
  if (real()) return "float";
  if (const Text* text = string()) return text->markup ? "Markup" : "str";
  if (sequence()) return python_kind(sequence()->kind);
  if (dict()) return "dict";
  return object()->type_name();
}

std::size_t Value::depth() const {
  if (const Sequence* held = sequence()) return held->depth;
  if (const Dict* held = dict()) return held->depth();
  if (const Object* held = object()) return held->depth();
  return 0;
}

Sequence::Sequence(Kind kind, std::vector<Value> values)
    : kind(kind), items(std::move(values)), depth(depth_over(items)) {}

Value make_list(std::vector<Value> items, bool trusted) {
  return Value(std::make_shared<const Sequence>(Sequence::Kind::List, std::move(items)), trusted);
}
Value make_tuple(std::vector<Value> items) {
  return Value(std::make_shared<const Sequence>(Sequence::Kind::Tuple, std::move(items)), true);
}
Value make_generator(std::vector<Value> items) {
  return Value(std::make_shared<const Sequence>(Sequence::Kind::Generator, std::move(items)), true);
}
Value make_dict(Dict dict, bool trusted) { return Value(std::make_shared<const Dict>(std::move(dict)), trusted); }

void Dict::set(const Value& key, Value value) {
  depth_ = std::max({depth_, value.depth() + 1, key.depth() + 1});
  if (depth_ > kMaxValueDepth) stop("a value nests deeper than {} levels, the limit", kMaxValueDepth);
  const auto [place, added] = index_.try_emplace(key_of(key), items_.size());
  if (added) {
    items_.emplace_back(key, std::move(value));
  } else {
    items_[place->second].second = std::move(value);
  }
}

const Value* Dict::find(const Value& key) const {
  const auto place = index_.find(key_of(key));
  return place == index_.end() ? nullptr : &items_[place->second].second;
}

const Value* Dict::find(std::string_view key) const {
  const auto place = index_.find("s" + std::string(key));
  return place == index_.end() ? nullptr : &items_[place->second].second;
}

bool hashable(const Value& value) {
  try {
    key_of(value);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

std::optional<Value> Object::attribute(std::string_view) const { return std::nullopt; }
Value Object::call(Budget&, const Arguments&) { stop("'{}' object is not callable", type_name()); }

Bound::Bound(std::string_view callee, const Arguments& arguments, std::initializer_list<std::string_view> parameters)
    : callee_(callee), parameters_(parameters), values_(parameters.size(), nullptr) {
  if (arguments.positional.size() > parameters_.size())
    stop("{} takes at most {} arguments, {} were given", callee, parameters_.size(), arguments.positional.size());
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto place = std::find(parameters_.begin(), parameters_.end(), name);
    if (place == parameters_.end()) stop("{} has no parameter '{}'", callee, name);
    const auto i = static_cast<std::size_t>(place - parameters_.begin());
    if (values_[i]) stop("{} got two values for '{}'", callee, name);
    values_[i] = &value;
  }
}

const Value& Bound::required(std::size_t parameter) const {
  if (!values_[parameter]) stop("{} needs its argument '{}'", callee_, parameters_[parameter]);
  return *values_[parameter];
}

std::int64_t Bound::integer_or(std::size_t parameter, std::int64_t otherwise) const {
  if (!values_[parameter]) return otherwise;
  const std::optional<std::int64_t> number = as_integer(*values_[parameter]);
  if (!number)
    stop("{}: '{}' must be an integer, not {}", callee_, parameters_[parameter], values_[parameter]->type_name());
  return *number;
}

bool Bound::truth_or(std::size_t parameter, bool otherwise) const {
  return values_[parameter] ? truthy(*values_[parameter]) : otherwise;
}

bool Bound::given(std::size_t parameter) const { return values_[parameter] && !values_[parameter]->is_none(); }

Value from_json(const nlohmann::ordered_json& json, bool trusted) { return json_at(json, trusted, 1); }

}  // namespace shardwise::jinja
