// The objects of a template that change or can be called: namespaces, loops, cyclers, joiners and global functions.
// Invariant: whatever could hold itself is kept by the Arena, which lets go of all contents at the end of a render.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shardwise/text/jinja_value.h"

namespace shardwise::jinja {

// Owns what may form cycles, or chains too long to free by recursion.
class Arena {
 public:
  Arena() = default;
  ~Arena() {
    for (const auto& object : objects_) object->release();
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void keep(Budget& budget, std::shared_ptr<Object> object) {
    budget.charge(8);
    objects_.push_back(std::move(object));
  }

 private:
  std::vector<std::shared_ptr<Object>> objects_;
};

class Namespace final : public Object {
 public:
  std::string type_name() const override { return "Namespace"; }
  std::optional<Value> attribute(std::string_view name) const override;
  void set(const std::string& name, Value value);
  void release() override { values_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

// `loop` inside a for: where the loop stands.
class Loop final : public Object {
 public:
  using Recurse = std::function<Value(const Value& items)>;
  Loop(std::shared_ptr<const Sequence> items, std::size_t depth0, Recurse recurse);

  std::string type_name() const override { return "LoopContext"; }
  std::optional<Value> attribute(std::string_view name) const override;
  bool callable() const override { return static_cast<bool>(recurse_); }
  Value call(Budget& budget, const Arguments& arguments) override;
  std::size_t depth() const override { return items_->depth + 1; }
  void release() override { recurse_ = nullptr; }

  std::size_t index0 = 0;

 private:
  const std::shared_ptr<const Sequence> items_;
  const std::size_t depth0_;
  Recurse recurse_;
};

// A function known by name only.
class Function final : public Object {
 public:
  using Body = std::function<Value(Budget&, const Arguments&)>;
  // `depth` is that of the deepest value that `body` holds.
  Function(std::string name, Body body, std::size_t depth = 0)
      : name_(std::move(name)), body_(std::move(body)), depth_(depth) {}
  std::string type_name() const override { return "function " + name_; }
  bool callable() const override { return true; }
  Value call(Budget& budget, const Arguments& arguments) override { return body_(budget, arguments); }
  std::size_t depth() const override { return depth_; }

 private:
  const std::string name_;
  const Body body_;
  const std::size_t depth_;
};

// range, dict, namespace, cycler, joiner, raise_exception and strftime_now (of `now`, or of the clock). `arena` must
// outlive them.
std::vector<std::pair<std::string, Value>> globals(Arena& arena, std::optional<std::time_t> now);

}  // namespace shardwise::jinja
