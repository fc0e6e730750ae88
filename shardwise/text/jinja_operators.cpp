// Comparison, membership, access and iteration. Arithmetic is in jinja_arithmetic.cpp.
#include "shardwise/text/jinja_operators.h"

#include <algorithm>

#include "shardwise/text/jinja_methods.h"
#include "shardwise/text/jinja_unicode.h"

namespace shardwise::jinja {
namespace {

std::string described(const Value& value) {
  return value.is_none() ? std::string("None") : fmt::format("'{} object'", value.type_name());
}

Value missing(const Value& of, std::string_view name) {
  return Value::undefined(fmt::format("{} has no attribute '{}'", described(of), name));
}

// Name in hand, the bound method, or an undefined value that says why the sandbox refuses it.
std::optional<Value> method_of(const Value& value, std::string_view name) {
  const bool internal = name.starts_with("__");
  if (internal || is_refused(value, name))
    return Value::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe", name, value.type_name()));
  if (Object* object = value.object()) return object->attribute(name);
  if (has_method(value, name)) return bind_method(value, name);
  return std::nullopt;
}

std::optional<Value> item_of(Budget& budget, const Value& value, const Value& key) {
  if (const Dict* dict = value.dict()) {
    const Value* found = hashable(key) ? dict->find(key) : nullptr;
    return found ? std::optional<Value>(*found) : std::nullopt;
  }
  const std::optional<std::int64_t> index = as_integer(key);
  if (!index) return std::nullopt;
  if (const Sequence* sequence = value.sequence(); sequence && sequence->indexable()) {
    const auto size = static_cast<std::int64_t>(sequence->items.size());
    const std::int64_t at = *index < 0 ? *index + size : *index;
    if (at < 0 || at >= size) return std::nullopt;
    return sequence->items[static_cast<std::size_t>(at)];
  }
  if (const Text* text = value.string()) {
    budget.scan(text->size());
    const auto size = static_cast<std::int64_t>(length(text->bytes()));
    const std::int64_t at = *index < 0 ? *index + size : *index;
    if (at < 0 || at >= size) return std::nullopt;
    const std::size_t begin = byte_of(text->bytes(), static_cast<std::size_t>(at));
    return Value(text->sub(begin, begin + character_at(text->bytes(), begin).size));
  }
  return std::nullopt;
}

struct Span {
  std::int64_t start, step, count;
};

// Python's slice.indices(size), and how many items it visits.
std::optional<Span> span_of(const Value& start, const Value& end, const Value& step, std::int64_t size) {
  const auto bound = [&](const Value& value, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
    if (value.is_none()) return std::optional<std::int64_t>(otherwise);
    std::optional<std::int64_t> index = as_integer(value);
    if (!index) return index;
    if (*index < 0) *index = std::max(*index, -size) == *index ? *index + size : low;
    return std::optional<std::int64_t>(std::clamp(*index, low, high));
  };
  const std::optional<std::int64_t> by = step.is_none() ? 1 : as_integer(step);
  if (!by) return std::nullopt;
  if (*by == 0) stop("slice step cannot be zero");
  const bool forward = *by > 0;
  const auto from = bound(start, forward ? 0 : size - 1, forward ? 0 : -1, forward ? size : size - 1);
  const auto to = bound(end, forward ? size : -1, forward ? 0 : -1, forward ? size : size - 1);
  if (!from || !to) return std::nullopt;
  const std::int64_t distance = forward ? *to - *from : *from - *to;
  const std::int64_t stride = *by == INT64_MIN ? INT64_MAX : std::abs(*by);
  const std::int64_t count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return Span{*from, *by, count};
}

Value slice_text(Budget& budget, const Text& text, const Value& start, const Value& end, const Value& step) {
  budget.scan(text.size());
  const auto size = static_cast<std::int64_t>(length(text.bytes()));
  const std::optional<Span> span = span_of(start, end, step, size);
  if (!span) stop("slice indices must be integers or none");
  if (span->count == 0) return Value(text.sub(0, 0));
  if (span->step == 1) {
    const std::size_t begin = byte_of(text.bytes(), static_cast<std::size_t>(span->start));
    const std::size_t rest =
        byte_of(std::string_view(text.bytes()).substr(begin), static_cast<std::size_t>(span->count));
    budget.produce(rest);
    return Value(text.sub(begin, begin + rest));
  }
  budget.charge(text.size());
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size(); at += character_at(text.bytes(), at).size) starts.push_back(at);
  starts.push_back(text.size());
  Text out;
  for (std::int64_t i = 0; i < span->count; ++i) {
    const auto at = static_cast<std::size_t>(span->start + i * span->step);
    out.append(text, starts[at], starts[at + 1]);
  }
  out.markup = text.markup;
  return Value(std::move(out));
}

}  // namespace

bool truthy(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (const bool* b = value.boolean()) return *b;
  if (const std::int64_t* i = value.integer()) return *i != 0;
  if (const double* d = value.real()) return *d != 0;
  if (const Text* text = value.string()) return !text->empty();
  if (const Dict* dict = value.dict()) return !dict->items().empty();
  if (const Sequence* sequence = value.sequence())
    return sequence->kind == Sequence::Kind::Generator || !sequence->items.empty();
  return true;
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.charge(1);
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (as_integer(a) && as_integer(b)) return *as_integer(a) == *as_integer(b);
  if (as_real(a) && as_real(b)) return *as_real(a) == *as_real(b);
  if (a.string() && b.string()) {
    budget.scan(a.string()->size());
    return a.string()->bytes() == b.string()->bytes();
  }
  if (a.dict() && b.dict()) {
    if (a.dict()->items().size() != b.dict()->items().size()) return false;
    return std::all_of(a.dict()->items().begin(), a.dict()->items().end(), [&](const Dict::Item& item) {
      const Value* other = b.dict()->find(item.first);
      return other && equal(budget, item.second, *other);
    });
  }
  if (a.sequence() && b.sequence()) {
    if (a.sequence() == b.sequence()) return true;
    if (a.sequence()->kind != b.sequence()->kind || !a.sequence()->indexable()) return false;
    const auto &x = a.sequence()->items, &y = b.sequence()->items;
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(),
                                              [&](const Value& p, const Value& q) { return equal(budget, p, q); });
  }
  return a.object() && a.object() == b.object();
}

bool less(Budget& budget, const Value& a, const Value& b) {
  budget.charge(1);
  if (as_integer(a) && as_integer(b)) return *as_integer(a) < *as_integer(b);
  if (as_real(a) && as_real(b)) return *as_real(a) < *as_real(b);
  if (a.string() && b.string()) {
    budget.scan(a.string()->size());
    return a.string()->bytes() < b.string()->bytes();  // UTF-8 sorts as its code points do
  }
  const Sequence *x = a.sequence(), *y = b.sequence();
  if (x && y && x->kind == y->kind && (x->kind == Sequence::Kind::List || x->kind == Sequence::Kind::Tuple)) {
    const std::size_t common = std::min(x->items.size(), y->items.size());
    for (std::size_t i = 0; i < common; ++i)
      if (!equal(budget, x->items[i], y->items[i])) return less(budget, x->items[i], y->items[i]);
    return x->items.size() < y->items.size();
  }
  if (a.is_undefined()) stop("{}", a.why_undefined());
  if (b.is_undefined()) stop("{}", b.why_undefined());
  stop("there is no order between '{}' and '{}'", a.type_name(), b.type_name());
}

bool contains(Budget& budget, const Value& container, const Value& item) {
  if (const Text* text = container.string()) {
    if (item.is_undefined()) stop("{}", item.why_undefined());
    if (!item.string()) stop("'in' on a string needs a string at its left, not '{}'", item.type_name());
    budget.scan(text->size());
    return find_bytes(text->bytes(), item.string()->bytes(), 0) != std::string_view::npos;
  }
  if (const Dict* dict = container.dict()) return dict->find(item) != nullptr;
  if (!iterable(container)) stop("'in' needs a container at its right, not '{}'", container.type_name());
  const auto items = iterate(budget, container);
  return std::any_of(items->items.begin(), items->items.end(),
                     [&](const Value& member) { return equal(budget, member, item); });
}

Value attribute(const Value& value, std::string_view name) {
  if (value.is_undefined()) stop("{}", value.why_undefined());
  if (std::optional<Value> method = method_of(value, name)) return *method;
  if (const Dict* dict = value.dict())
    if (const Value* found = dict->find(name)) return *found;
  return missing(value, name);
}

Value item(Budget& budget, const Value& value, const Value& key) {
  if (value.is_undefined()) stop("{}", value.why_undefined());
  if (std::optional<Value> found = item_of(budget, value, key)) return *found;
  if (const Text* name = key.string()) {
    if (std::optional<Value> method = method_of(value, name->bytes())) return *method;
    return missing(value, name->bytes());
  }
  return Value::undefined(fmt::format("{} has no such element", described(value)));
}

Value slice(Budget& budget, const Value& value, const Value& start, const Value& end, const Value& step) {
  if (value.is_undefined()) stop("{}", value.why_undefined());
  if (const Text* text = value.string()) return slice_text(budget, *text, start, end, step);
  const Sequence* sequence = value.sequence();
  if (!sequence || !sequence->indexable()) stop("'{}' object cannot be sliced", value.type_name());
  const std::optional<Span> span = span_of(start, end, step, static_cast<std::int64_t>(sequence->items.size()));
  if (!span) stop("slice indices must be integers or none");
  budget.charge(static_cast<std::size_t>(span->count));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(span->count));
  for (std::int64_t i = 0; i < span->count; ++i)
    items.push_back(sequence->items[static_cast<std::size_t>(span->start + i * span->step)]);
  const auto kind = sequence->kind == Sequence::Kind::Tuple ? Sequence::Kind::Tuple : Sequence::Kind::List;
  return Value(std::make_shared<const Sequence>(kind, std::move(items)), value.container_trusted());
}

bool iterable(const Value& value) { return value.is_undefined() || value.string() || value.sequence() || value.dict(); }

std::shared_ptr<const Sequence> iterate(Budget& budget, const Value& value) {
  using Kind = Sequence::Kind;
  if (auto sequence = value.shared_sequence()) {
    if (sequence->kind != Kind::Generator) return sequence;
    budget.charge(sequence->items.size() - sequence->taken);
    std::vector<Value> rest(sequence->items.begin() + static_cast<std::ptrdiff_t>(sequence->taken),
                            sequence->items.end());
    sequence->taken = sequence->items.size();
    return std::make_shared<const Sequence>(Kind::List, std::move(rest));
  }
  std::vector<Value> items;
  if (const Text* text = value.string()) {
    budget.charge(text->size() * 2);
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t size = character_at(text->bytes(), at).size;
      Text one;  // plain, even of a string marked safe
      one.append(*text, at, at + size);
      items.emplace_back(std::move(one));
      at += size;
    }
  } else if (const Dict* dict = value.dict()) {
    budget.charge(dict->items().size());
    for (const auto& entry : dict->items()) items.push_back(entry.first);
  } else if (!value.is_undefined()) {
    stop("'{}' object is not iterable", value.type_name());
  }
  return std::make_shared<const Sequence>(Kind::List, std::move(items));
}

std::optional<std::size_t> size_of(Budget& budget, const Value& value) {
  if (value.is_undefined()) return 0;
  if (const Text* text = value.string()) {
    budget.scan(text->size());
    return length(text->bytes());
  }
  if (const Dict* dict = value.dict()) return dict->items().size();
  const Sequence* sequence = value.sequence();
  if (sequence && sequence->kind != Sequence::Kind::Generator) return sequence->items.size();
  return std::nullopt;
}

}  // namespace shardwise::jinja
