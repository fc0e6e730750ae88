// Namespaces, loops and the global functions.
#include "shardwise/text/jinja_callables.h"

#include <algorithm>

#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"

namespace shardwise::jinja {
namespace {

constexpr std::size_t kMostAttributes = 1000;  // of one namespace: they are searched in turn

Value range(Budget& budget, const Arguments& arguments) {
  if (!arguments.named.empty() || arguments.positional.empty() || arguments.positional.size() > 3)
    stop("range takes one to three numbers");
  std::vector<std::int64_t> numbers;
  bool trusted = true;
  for (const Value& value : arguments.positional) {
    const auto number = as_integer(value);
    if (value.is_undefined()) stop("{}", value.why_undefined());
    if (!number) stop("range needs integers, not {}", value.type_name());
    numbers.push_back(*number);
    trusted = trusted && value.trusted();
  }
  const std::int64_t start = numbers.size() > 1 ? numbers[0] : 0;
  const std::int64_t end = numbers.size() > 1 ? numbers[1] : numbers[0];
  const std::int64_t step = numbers.size() > 2 ? numbers[2] : 1;
  if (step == 0) stop("range: the step must not be zero");
  const bool empty = step > 0 ? start >= end : start <= end;
  // Unsigned, so that the distance of any two 64-bit integers fits.
  const auto distance = step > 0 ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(start)
                                 : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(end);
  const auto stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::uint64_t count = empty ? 0 : (distance - 1) / stride + 1;
  if (count > budget.limits().max_range)
    stop("range makes {} numbers, the limit is {}", count, budget.limits().max_range);
  budget.charge(count);
  std::vector<Value> items;
  items.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i)
    items.emplace_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(step)), trusted);
  auto sequence = std::make_shared<Sequence>(Sequence::Kind::Range, std::move(items));
  sequence->range_text =
      step == 1 ? fmt::format("range({}, {})", start, end) : fmt::format("range({}, {}, {})", start, end, step);
  return Value(std::shared_ptr<const Sequence>(std::move(sequence)), trusted);
}

// The pairs of dict(...) and namespace(...): of a dict or of pairs, then of the names.
std::vector<Dict::Item> pairs_of(Budget& budget, std::string_view callee, const Arguments& arguments) {
  std::vector<Dict::Item> out;
  if (arguments.positional.size() > 1) stop("{} takes at most one value without a name", callee);
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (const Dict* dict = source.dict()) {
      out = dict->items();
    } else {
      const auto pairs = iterate(budget, source);
      for (const Value& pair : pairs->items) {
        const auto parts = iterate(budget, pair);
        if (parts->items.size() != 2) stop("{} needs pairs of key and value", callee);
        out.emplace_back(parts->items[0], parts->items[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) out.emplace_back(Value(Text(name, true)), value);
  budget.charge(out.size());
  return out;
}

Value dict(Budget& budget, const Arguments& arguments) {
  Dict out;
  for (auto& [key, value] : pairs_of(budget, "dict", arguments)) out.set(key, std::move(value));
  return make_dict(std::move(out));
}

// cycler('a', 'b'): next() gives its items in turn.
class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(Sequence::Kind::Tuple, std::move(items)) {}
  std::string type_name() const override { return "Cycler"; }
  std::size_t depth() const override { return items_.depth + 1; }
  std::optional<Value> attribute(std::string_view name) const override {
    if (name == "current") return items_.items[*at_];
    if (name != "next" && name != "reset") return std::nullopt;
    const auto step = [items = items_.items, at = at_, next = name == "next"](Budget&, const Arguments&) {
      const Value current = next ? items[*at] : Value(None{});
      *at = next ? (*at + 1) % items.size() : 0;
      return current;
    };
    return Value(std::make_shared<Function>(std::string(name), step, items_.depth + 1));
  }

 private:
  const Sequence items_;
  const std::shared_ptr<std::size_t> at_ = std::make_shared<std::size_t>(0);
};

Value cycler(Budget& budget, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) stop("cycler needs at least one item");
  budget.charge(arguments.positional.size());
  if (arguments.positional.size() > kMostAttributes) stop("cycler takes at most {} items", kMostAttributes);
  return Value(std::make_shared<Cycler>(arguments.positional));
}

// joiner(', '): empty when first called, then the separator.
Value joiner(Budget&, const Arguments& arguments) {
  const Bound bound("joiner", arguments, {"sep"});
  const Value separator = bound[0] ? *bound[0] : Value(Text(", ", true));
  if (!separator.string()) stop("joiner needs a string, not {}", separator.type_name());
  const auto used = std::make_shared<bool>(false);
  return Value(std::make_shared<Function>("joiner", [separator, used](Budget&, const Arguments&) {
    return std::exchange(*used, true) ? separator : Value(Text());
  }));
}

Value raise_exception(Budget& budget, const Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"});
  throw Failure{to_text(budget, bound.required(0)).bytes(), true};
}

Value strftime(Budget& budget, const Arguments& arguments, std::optional<std::time_t> now) {
  const Bound bound("strftime_now", arguments, {"format"});
  const Text format = to_text(budget, bound.required(0));
  if (format.size() > 1000) stop("strftime_now: the format is too long");
  const std::time_t time = now ? *now : std::time(nullptr);
  std::tm local{};
  localtime_r(&time, &local);
  char buffer[8192];
  const std::size_t size = format.empty() ? 0 : std::strftime(buffer, sizeof buffer, format.bytes().c_str(), &local);
  return Value(Text(std::string(buffer, size), format.all_trusted()));
}

}  // namespace

std::optional<Value> Namespace::attribute(std::string_view name) const {
  for (const auto& [held, value] : values_)
    if (held == name) return value;
  return std::nullopt;
}

void Namespace::set(const std::string& name, Value value) {
  for (auto& [held, old] : values_) {
    if (held != name) continue;
    old = std::move(value);
    return;
  }
  if (values_.size() >= kMostAttributes) stop("a namespace holds at most {} attributes", kMostAttributes);
  values_.emplace_back(name, std::move(value));
}

Loop::Loop(std::shared_ptr<const Sequence> items, std::size_t depth0, Recurse recurse)
    : items_(std::move(items)), depth0_(depth0), recurse_(std::move(recurse)) {}

std::optional<Value> Loop::attribute(std::string_view name) const {
  const std::size_t size = items_->items.size();
  if (name == "index") return Value::count(index0 + 1);
  if (name == "index0") return Value::count(index0);
  if (name == "revindex") return Value::count(size - index0);
  if (name == "revindex0") return Value::count(size - index0 - 1);
  if (name == "first") return Value(index0 == 0);
  if (name == "last") return Value(index0 + 1 == size);
  if (name == "length") return Value::count(size);
  if (name == "depth") return Value::count(depth0_ + 1);
  if (name == "depth0") return Value::count(depth0_);
  if (name == "previtem") return index0 > 0 ? items_->items[index0 - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem")
    return index0 + 1 < size ? items_->items[index0 + 1] : Value::undefined("there is no next item");
  if (name != "cycle") return std::nullopt;
  return Value(std::make_shared<Function>("cycle", [at = index0](Budget&, const Arguments& arguments) {
    if (arguments.positional.empty()) stop("loop.cycle needs at least one item");
    return arguments.positional[at % arguments.positional.size()];
  }));
}

Value Loop::call(Budget&, const Arguments& arguments) {
  if (!recurse_) stop("the loop is called, but it is not recursive: write 'for ... recursive'");
  const Bound bound("loop", arguments, {"iterable"});
  return recurse_(bound.required(0));
}

std::vector<std::pair<std::string, Value>> globals(Arena& arena, std::optional<std::time_t> now) {
  const auto make_namespace = [&arena](Budget& budget, const Arguments& arguments) {
    auto made = std::make_shared<Namespace>();
    for (auto& [key, value] : pairs_of(budget, "namespace", arguments))
      made->set(to_text(budget, key).bytes(), std::move(value));
    arena.keep(budget, made);
    return Value(std::shared_ptr<Object>(made));
  };
  const auto strftime_now = [now](Budget& budget, const Arguments& arguments) {
    return strftime(budget, arguments, now);
  };
  std::vector<std::pair<std::string, Value>> out;
  const auto add = [&](const std::string& name, Function::Body body) {
    out.emplace_back(name, Value(std::make_shared<Function>(name, std::move(body))));
  };
  add("range", range);
  add("dict", dict);
  add("namespace", make_namespace);
  add("cycler", cycler);
  add("joiner", joiner);
  add("raise_exception", raise_exception);
  add("strftime_now", strftime_now);
  return out;
}

}  // namespace shardwise::jinja
