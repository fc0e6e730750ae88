// The values of a template: Python's, as far as Jinja's immutable sandbox lets a template see them.
// Invariant: sequences and dicts never change once made and nest at most kMaxValueDepth deep, so walking or freeing one
// never recurses far; every value that is not a string says with one flag whether the template or the input made it.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "shardwise/text/jinja_failure.h"
#include "shardwise/text/jinja_text.h"

namespace shardwise::jinja {

class Sequence;
class Dict;
class Object;

struct None {};
struct Undefined {
  std::shared_ptr<const std::string> why;  // null: no more is known
};

class Value {
 public:
  Value() : is_(Undefined{}) {}
  explicit Value(None) : is_(None{}) {}
  explicit Value(bool b, bool trusted = true) : is_(b), trusted_(trusted) {}
  explicit Value(std::int64_t i, bool trusted = true) : is_(i), trusted_(trusted) {}
  explicit Value(double d, bool trusted = true) : is_(d), trusted_(trusted) {}
  explicit Value(Text text) : is_(std::make_shared<const Text>(std::move(text))) {}
  explicit Value(std::shared_ptr<const Sequence> s, bool trusted) : is_(std::move(s)), trusted_(trusted) {}
  explicit Value(std::shared_ptr<const Dict> d, bool trusted) : is_(std::move(d)), trusted_(trusted) {}
  explicit Value(std::shared_ptr<Object> object) : is_(std::move(object)) {}
  explicit Value(const char*) = delete;

  static Value undefined(std::string why);
  static Value count(std::size_t n) { return Value(static_cast<std::int64_t>(n)); }

  bool is_undefined() const { return std::holds_alternative<Undefined>(is_); }
  bool is_none() const { return std::holds_alternative<None>(is_); }
  const bool* boolean() const { return std::get_if<bool>(&is_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&is_); }
  const double* real() const { return std::get_if<double>(&is_); }
  const Text* string() const;
  const Sequence* sequence() const;
  const Dict* dict() const;
  Object* object() const;
  std::shared_ptr<const Sequence> shared_sequence() const;

  const std::string& why_undefined() const;  // REQUIRES: is_undefined()
  bool trusted() const;                      // every byte that printing it gives comes from the template
  bool container_trusted() const { return trusted_; }
  Value with_trust(bool trusted) const;  // the same number, truth value, none or container, so marked
  std::string type_name() const;         // as Python calls it
  std::size_t depth() const;             // 0: holds no other values

 private:
  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const Text>,
               std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, std::shared_ptr<Object>>
      is_;
  bool trusted_ = true;
};

// Python's ordered sequences and what iterates once.
class Sequence {
 public:
  enum class Kind { List, Tuple, Range, Keys, Values, Items, Generator };

  Sequence(Kind kind, std::vector<Value> items);  // fails when nested too deep

  const Kind kind;
  const std::vector<Value> items;
  const std::size_t depth;
  std::string range_text;         // of a Range: how it prints
  mutable std::size_t taken = 0;  // of a Generator: how many items are gone

  bool indexable() const { return kind == Kind::List || kind == Kind::Tuple || kind == Kind::Range; }
};

Value make_list(std::vector<Value> items, bool trusted = true);
Value make_tuple(std::vector<Value> items);
Value make_generator(std::vector<Value> items);

// An ordered dict. Keys are strings, numbers, truth values, none or tuples of those.
class Dict {
 public:
  using Item = std::pair<Value, Value>;
  void set(const Value& key, Value value);    // only while it is being made; fails on a key that Python cannot hash
  const Value* find(const Value& key) const;  // null: none; fails on a key that Python cannot hash
  const Value* find(std::string_view key) const;
  const std::vector<Item>& items() const { return items_; }
  std::size_t depth() const { return depth_; }

 private:
  std::vector<Item> items_;
  std::unordered_map<std::string, std::size_t> index_;
  std::size_t depth_ = 1;
};

Value make_dict(Dict dict, bool trusted = true);
bool hashable(const Value& value);

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Namespaces, loops, macros, functions and bound methods.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  virtual std::optional<Value> attribute(std::string_view name) const;  // none: there is no such attribute
  virtual bool callable() const { return false; }
  virtual Value call(Budget& budget, const Arguments& arguments);
  virtual std::size_t depth() const { return 0; }
  virtual void release() {}  // lets go of what it holds, so that cycles end
};

// What a callable was given, by parameter: positional first, then by name. Fails, naming the callee, on too many,
// unknown and doubled arguments.
class Bound {
 public:
  Bound(std::string_view callee, const Arguments& arguments, std::initializer_list<std::string_view> parameters);
  const Value* operator[](std::size_t parameter) const { return values_[parameter]; }  // null: not given
  const Value& required(std::size_t parameter) const;
  std::int64_t integer_or(std::size_t parameter, std::int64_t otherwise) const;
  bool truth_or(std::size_t parameter, bool otherwise) const;
  bool given(std::size_t parameter) const;  // and not none

 private:
  std::string callee_;
  std::vector<std::string_view> parameters_;
  std::vector<const Value*> values_;
};

// JSON as a value. With `trusted` false every byte is marked as input. Integers past 64 bits become floats.
Value from_json(const nlohmann::ordered_json& json, bool trusted);

}  // namespace shardwise::jinja
