// The statements of a template.
#include "shardwise/text/jinja_interpreter.h"

#include <algorithm>

#include "shardwise/text/jinja_operators.h"
#include "shardwise/text/jinja_print.h"

namespace shardwise::jinja {

// A macro, or the caller of a call block: a body and the scope that it was defined in.
class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, std::shared_ptr<const MacroBody> body, std::shared_ptr<Scope> scope)
      : interpreter_(interpreter), body_(std::move(body)), scope_(std::move(scope)) {}
  std::string type_name() const override { return "Macro"; }
  bool callable() const override { return true; }
  Value call(Budget&, const Arguments& arguments) override {
    return interpreter_.call_macro(*body_, scope_, arguments);
  }
  std::optional<Value> attribute(std::string_view name) const override {
    if (name == "name") return Value(Text(body_->name, true));
    return std::nullopt;
  }
  void release() override { scope_.reset(); }

 private:
  Interpreter& interpreter_;
  const std::shared_ptr<const MacroBody> body_;
  std::shared_ptr<Scope> scope_;
};

namespace {

// Puts a value in place and the old one back at the end.
template <class T>
class Swapped {
 public:
  Swapped(T& place, T value) : place_(place), old_(std::exchange(place, std::move(value))) {}
  ~Swapped() { place_ = std::move(old_); }
  Swapped(const Swapped&) = delete;
  Swapped& operator=(const Swapped&) = delete;

 private:
  T& place_;
  T old_;
};

}  // namespace

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->around.get())
    for (const auto& [held, value] : scope->values)
      if (held == name) return &value;
  return nullptr;
}

void Scope::set(const std::string& name, Value value) {
  for (auto& [held, old] : values) {
    if (held != name) continue;
    old = std::move(value);
    return;
  }
  values.emplace_back(name, std::move(value));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): its values are moved out
Text Interpreter::run(const Body& body, std::vector<std::pair<std::string, Value>> variables,
                      std::optional<std::time_t> now) {
  auto outermost = std::make_shared<Scope>(nullptr);
  outermost->values = globals(arena_, now);
  scope_ = std::make_shared<Scope>(std::move(outermost));
  for (auto& [name, value] : variables) scope_->set(name, std::move(value));
  Text out;
  out_ = &out;
  execute(body);
  return out;
}

Interpreter::Flow Interpreter::execute(const Body& body) {
  for (const Stmt& statement : body)
    if (const Flow flow = execute(statement); flow != Flow::Normal) return flow;
  return Flow::Normal;
}

Interpreter::Flow Interpreter::execute(const Stmt& statement) {
  const Budget::Level level(budget_);
  budget_.charge(1);
  line_ = statement.line;
  return std::visit([this](const auto& is) { return execute(is); }, statement.is);
}

void Interpreter::write(const Text& text) {
  budget_.check_size(out_->size() + text.size());
  budget_.produce(text.size());
  out_->append(text);
}

Interpreter::Flow Interpreter::execute(const TextOutput& text) {
  write(text.text);
  return Flow::Normal;
}

Interpreter::Flow Interpreter::execute(const Print& print) {
  const Value value = evaluate(*print.of);
  if (const Text* text = value.string()) {
    write(*text);
  } else {
    write(to_text(budget_, value));
  }
  return Flow::Normal;
}

Interpreter::Flow Interpreter::execute(const If& branches) {
  for (const auto& [test, then] : branches.branches)
    if (truthy(evaluate(*test))) return execute(then);
  return execute(branches.otherwise);
}

Interpreter::Flow Interpreter::execute(const For& loop) { return iterate_over(loop, evaluate(*loop.over), 0); }

// The items that pass the loop's own `if`, which sees the target but not `loop`.
std::shared_ptr<const Sequence> Interpreter::kept_items(const For& loop, const Value& over) {
  auto items = iterate(budget_, over);
  if (!loop.only_if) return items;
  std::vector<Value> kept;
  const Swapped<std::shared_ptr<Scope>> inner(scope_, std::make_shared<Scope>(scope_));
  for (const Value& item : items->items) {
    assign(loop.target, item);
    if (truthy(evaluate(*loop.only_if))) kept.push_back(item);
  }
  return std::make_shared<const Sequence>(Sequence::Kind::List, std::move(kept));
}

Interpreter::Flow Interpreter::iterate_over(const For& loop, const Value& over, std::size_t depth0) {
  const auto items = kept_items(loop, over);
  Loop::Recurse recurse;
  if (loop.recursive) {
    recurse = [this, &loop, around = scope_, depth0](const Value& nested) {
      const Budget::Level level(budget_);
      Text text;
      const Swapped<std::shared_ptr<Scope>> inner(scope_, around);
      const Swapped<Text*> sink(out_, &text);
      iterate_over(loop, nested, depth0 + 1);
      return Value(std::move(text));
    };
  }
  const auto state = std::make_shared<Loop>(items, depth0, std::move(recurse));
  if (loop.recursive) arena_.keep(budget_, state);
  const Value loop_value{std::shared_ptr<Object>(state)};
  bool completed = false;
  for (; state->index0 < items->items.size(); ++state->index0) {
    budget_.charge(1);
    const Swapped<std::shared_ptr<Scope>> inner(scope_, std::make_shared<Scope>(scope_));
    scope_->set("loop", loop_value);
    assign(loop.target, items->items[state->index0]);
    const Flow flow = execute(loop.body);
    completed = completed || flow == Flow::Normal;
    if (flow == Flow::Break) break;
  }
  if (completed) return Flow::Normal;
  // As in Jinja, a loop all of whose rounds end by break or continue takes its else branch, too.
  const Swapped<std::shared_ptr<Scope>> inner(scope_, std::make_shared<Scope>(scope_));
  return execute(loop.otherwise);
}

void Interpreter::assign(const Target& target, const Value& value) {
  if (target.is_tuple) {
    if (value.is_undefined()) stop("{}", value.why_undefined());
    const auto items = iterate(budget_, value);
    if (items->items.size() != target.parts.size())
      stop("cannot unpack {} values into {} names", items->items.size(), target.parts.size());
    for (std::size_t i = 0; i < target.parts.size(); ++i) assign(target.parts[i], items->items[i]);
    return;
  }
  if (target.attribute.empty()) return scope_->set(target.name, value);
  const Value* held = scope_->find(target.name);
  auto* names = held ? dynamic_cast<Namespace*>(held->object()) : nullptr;
  if (!names) stop("cannot set '{}.{}': '{}' is not a namespace", target.name, target.attribute, target.name);
  names->set(target.attribute, value);
}

Interpreter::Flow Interpreter::execute(const Set& set) {
  assign(set.target, evaluate(*set.value));
  return Flow::Normal;
}

Text Interpreter::captured(const Body& body, std::shared_ptr<Scope> scope) {
  Text text;
  const Swapped<std::shared_ptr<Scope>> inner(scope_, std::move(scope));
  const Swapped<Text*> sink(out_, &text);
  execute(body);
  return text;
}

Value Interpreter::filtered(const Expr& chain, const Value& subject) {
  const Swapped<const Value*> handed(filter_subject_, &subject);
  return evaluate(chain);
}

Interpreter::Flow Interpreter::execute(const SetBlock& set) {
  Value value{captured(set.body, std::make_shared<Scope>(scope_))};
  assign(set.target, set.filter ? filtered(*set.filter, value) : value);
  return Flow::Normal;
}

Interpreter::Flow Interpreter::execute(const With& with) {
  auto inner = std::make_shared<Scope>(scope_);
  for (const auto& [target, expr] : with.values) {
    const Value value = evaluate(*expr);  // in the scope around: its values do not see one another
    const Swapped<std::shared_ptr<Scope>> inside(scope_, inner);
    assign(target, value);
  }
  const Swapped<std::shared_ptr<Scope>> inside(scope_, std::move(inner));
  return execute(with.body);
}

Interpreter::Flow Interpreter::execute(const FilterBlock& block) {
  const Value text{captured(block.body, std::make_shared<Scope>(scope_))};
  write(to_text(budget_, filtered(*block.filter, text)));
  return Flow::Normal;
}

Interpreter::Flow Interpreter::execute(const Scoped& block) {
  const Swapped<std::shared_ptr<Scope>> inner(scope_, std::make_shared<Scope>(scope_));
  return execute(block.body);
}

Value Interpreter::make_macro(std::shared_ptr<const MacroBody> macro) {
  auto made = std::make_shared<Macro>(*this, std::move(macro), scope_);
  arena_.keep(budget_, made);
  return Value(std::shared_ptr<Object>(std::move(made)));
}

Interpreter::Flow Interpreter::execute(const DefineMacro& define) {
  scope_->set(define.macro->name, make_macro(define.macro));
  return Flow::Normal;
}

Interpreter::Flow Interpreter::execute(const CallBlock& block) {
  const Call& made = std::get<Call>(block.call->is);
  const Value callee = evaluate(*made.callee);
  Arguments arguments = evaluate(made.arguments);
  arguments.named.emplace_back("caller", make_macro(block.caller));
  write(to_text(budget_, call(callee, arguments)));
  return Flow::Normal;
}

Value Interpreter::call_macro(const MacroBody& macro, const std::shared_ptr<Scope>& scope, const Arguments& arguments) {
  const Budget::Level level(budget_);
  auto inner = std::make_shared<Scope>(scope);
  {
    const Swapped<std::shared_ptr<Scope>> inside(scope_, inner);
    bind(macro, arguments, *inner);
  }
  return Value(captured(macro.body, std::move(inner)));
}

// Parameters by position, then by name, then by default; the rest goes to varargs and kwargs if the body names them.
void Interpreter::bind(const MacroBody& macro, const Arguments& arguments, Scope& into) {
  const std::size_t by_position = std::min(arguments.positional.size(), macro.parameters.size());
  Arguments rest;
  rest.named = arguments.named;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    const auto named = std::find_if(rest.named.begin(), rest.named.end(),
                                    [&](const auto& argument) { return argument.first == parameter.name; });
    if (i < by_position) {
      into.set(parameter.name, arguments.positional[i]);
    } else if (named != rest.named.end()) {
      into.set(parameter.name, named->second);
      rest.named.erase(named);
    } else if (parameter.otherwise) {
      into.set(parameter.name, evaluate(*parameter.otherwise));
    } else {
      into.set(parameter.name, Value::undefined(fmt::format("parameter '{}' was not provided", parameter.name)));
    }
  }
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(by_position),
                         arguments.positional.end());
  const auto caller = std::find_if(rest.named.begin(), rest.named.end(),
                                   [](const auto& argument) { return argument.first == "caller"; });
  if (macro.uses_caller && !std::any_of(macro.parameters.begin(), macro.parameters.end(),
                                        [](const Parameter& p) { return p.name == "caller"; })) {
    const bool given = caller != rest.named.end();
    into.set("caller", given ? caller->second : Value::undefined("no caller is defined"));
    if (given) rest.named.erase(caller);
  }
  if (!rest.positional.empty() && !macro.uses_varargs)
    stop("macro '{}' takes no more than {} arguments", macro.name, macro.parameters.size());
  if (!rest.named.empty() && !macro.uses_kwargs)
    stop("macro '{}' takes no argument named '{}'", macro.name, rest.named.front().first);
  if (macro.uses_varargs) into.set("varargs", make_tuple(rest.positional));
  if (!macro.uses_kwargs) return;
  Dict names;
  for (const auto& [name, value] : rest.named) names.set(Value(Text(name, true)), value);
  into.set("kwargs", make_dict(std::move(names)));
}

}  // namespace shardwise::jinja
