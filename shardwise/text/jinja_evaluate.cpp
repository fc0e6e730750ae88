// The expressions of a template.
#include <functional>

#include "shardwise/text/jinja_filters.h"
#include "shardwise/text/jinja_interpreter.h"
#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"

namespace shardwise::jinja {

Value Interpreter::evaluate(const Expr& expr) {
  const Budget::Level level(budget_);
  budget_.charge(1);
  line_ = expr.line;
  return std::visit([this](const auto& is) { return evaluate(is); }, expr.is);
}

Value Interpreter::evaluate_or_none(const ExprPtr& expr) { return expr ? evaluate(*expr) : Value(None{}); }

Value Interpreter::evaluate(const Name& name) {
  const Value* value = scope_->find(name.name);
  return value ? *value : Value::undefined(fmt::format("'{}' is undefined", name.name));
}

Value Interpreter::evaluate(const ListLiteral& list) {
  std::vector<Value> items;
  items.reserve(list.items.size());
  for (const ExprPtr& item : list.items) items.push_back(evaluate(*item));
  return list.tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

Value Interpreter::evaluate(const DictLiteral& dict) {
  Dict out;
  for (const auto& [key, value] : dict.items) {
    const Value name = evaluate(*key);
    out.set(name, evaluate(*value));
  }
  return make_dict(std::move(out));
}

Value Interpreter::evaluate(const Unary& unary) {
  const Value value = evaluate(*unary.of);
  if (unary.op == Unary::Op::Not) return Value(!truthy(value));
  return unary.op == Unary::Op::Negate ? negate(value) : positive(value);
}

Value Interpreter::evaluate(const Binary& binary) {
  const Value left = evaluate(*binary.left);
  using Op = Binary::Op;
  if (binary.op == Op::Or) return truthy(left) ? left : evaluate(*binary.right);
  if (binary.op == Op::And) return truthy(left) ? evaluate(*binary.right) : left;
  const Value right = evaluate(*binary.right);
  switch (binary.op) {
    case Op::Add: return add(budget_, left, right);
    case Op::Subtract: return subtract(left, right);
    case Op::Multiply: return multiply(budget_, left, right);
    case Op::Divide: return divide(left, right);
    case Op::FloorDivide: return floor_divide(left, right);
    case Op::Modulo: return modulo(budget_, left, right);
    default: return power(left, right);
  }
}

Value Interpreter::evaluate(const Concat& concat) {
  Text out;
  for (const ExprPtr& part : concat.parts) {
    const Text text = to_text(budget_, evaluate(*part));
    budget_.produce(text.size());
    budget_.check_size(out.size() + text.size());
    out.append(text);
  }
  return Value(std::move(out));
}

bool Interpreter::holds(Compare::Op op, const Value& left, const Value& right) {
  using Op = Compare::Op;
  switch (op) {
    case Op::Equal: return equal(budget_, left, right);
    case Op::NotEqual: return !equal(budget_, left, right);
    case Op::Less: return less(budget_, left, right);
    case Op::Greater: return less(budget_, right, left);
    case Op::LessEqual: return less(budget_, left, right) || equal(budget_, left, right);
    case Op::GreaterEqual: return less(budget_, right, left) || equal(budget_, left, right);
    case Op::In: return contains(budget_, right, left);
    case Op::NotIn: break;
  }
  return !contains(budget_, right, left);
}

Value Interpreter::evaluate(const Compare& compare) {
  Value left = evaluate(*compare.first);
  for (const auto& [op, expr] : compare.rest) {
    Value right = evaluate(*expr);
    if (!holds(op, left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate(const Conditional& conditional) {
  if (truthy(evaluate(*conditional.test))) return evaluate(*conditional.then);
  if (conditional.otherwise) return evaluate(*conditional.otherwise);
  return Value::undefined("an inline 'if' was false and has no 'else'");
}

Value Interpreter::evaluate(const Attribute& access) { return attribute(evaluate(*access.of), access.name); }

Value Interpreter::evaluate(const Subscript& subscript) {
  const Value of = evaluate(*subscript.of);
  return item(budget_, of, evaluate(*subscript.key));
}

Value Interpreter::evaluate(const SliceOf& cut) {
  const Value of = evaluate(*cut.of);
  const Value start = evaluate_or_none(cut.start), end = evaluate_or_none(cut.end);
  return slice(budget_, of, start, end, evaluate_or_none(cut.step));
}

Arguments Interpreter::evaluate(const CallArguments& given) {
  Arguments out;
  for (const ExprPtr& expr : given.positional) out.positional.push_back(evaluate(*expr));
  for (const auto& [name, expr] : given.named) out.named.emplace_back(name, evaluate(*expr));
  if (given.more_positional) {
    const auto more = iterate(budget_, evaluate(*given.more_positional));
    budget_.charge(more->items.size());
    out.positional.insert(out.positional.end(), more->items.begin(), more->items.end());
  }
  if (given.more_named) {
    const Value more = evaluate(*given.more_named);
    if (!more.dict()) stop("'**' needs a dict, not {}", more.type_name());
    for (const auto& [key, value] : more.dict()->items()) {
      if (!key.string()) stop("'**' needs a dict with strings as keys");
      budget_.charge(1);
      out.named.emplace_back(key.string()->bytes(), value);
    }
  }
  return out;
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) stop("{}", callee.why_undefined());
  if (!callee.object()) stop("'{}' object is not callable", callee.type_name());
  budget_.charge(1);
  return callee.object()->call(budget_, arguments);
}

Value Interpreter::evaluate(const Call& made) {
  const Value callee = evaluate(*made.callee);
  return call(callee, evaluate(made.arguments));
}

Value Interpreter::evaluate(const FilterCall& filter) {
  const Value subject = filter.of ? evaluate(*filter.of) : *filter_subject_;
  const Arguments arguments = evaluate(filter.arguments);
  return apply_filter(budget_, filter.name, subject, arguments);
}

Value Interpreter::evaluate(const TestCall& test) {
  const Value subject = evaluate(*test.of);
  return Value(apply_test(budget_, test.name, subject, evaluate(test.arguments)));
}

}  // namespace shardwise::jinja
