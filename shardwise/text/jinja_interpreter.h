// Runs a parsed template over its variables. One interpreter is one render.
// Invariant: the interpreter reads only its variables and the clock, and every step is paid for from one budget.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shardwise/text/jinja_ast.h"
#include "shardwise/text/jinja_callables.h"
#include "shardwise/text/jinja_failure.h"

namespace shardwise::jinja {

// Names in sight: those set here, then those of the scope around.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : around(std::move(outer)) {}

  const Value* find(std::string_view name) const;
  void set(const std::string& name, Value value);

  std::shared_ptr<Scope> around;
  std::vector<std::pair<std::string, Value>> values;
};

class Interpreter {
 public:
  explicit Interpreter(const Limits& limits) : budget_(limits) {}

  // Throws Failure; line() is then where.
  Text run(const Body& body, std::vector<std::pair<std::string, Value>> variables, std::optional<std::time_t> now);
  int line() const { return line_; }
  const Budget& budget() const { return budget_; }

 private:
  friend class Macro;
  enum class Flow { Normal, Break, Continue };

  Flow execute(const Body& body);
  Flow execute(const Stmt& statement);
  Flow execute(const TextOutput& text);
  Flow execute(const Print& print);
  Flow execute(const If& branches);
  Flow execute(const For& loop);
  Flow execute(const Set& set);
  Flow execute(const SetBlock& set);
  Flow execute(const With& with);
  Flow execute(const DefineMacro& define);
  Flow execute(const CallBlock& call);
  Flow execute(const FilterBlock& block);
  Flow execute(const Scoped& block);
  Flow execute(const Break&) { return Flow::Break; }
  Flow execute(const Continue&) { return Flow::Continue; }

  void write(const Text& text);
  void assign(const Target& target, const Value& value);
  Text captured(const Body& body, std::shared_ptr<Scope> scope);  // what the body writes
  std::shared_ptr<const Sequence> kept_items(const For& loop, const Value& over);
  Flow iterate_over(const For& loop, const Value& over, std::size_t depth0);
  Value call_macro(const MacroBody& macro, const std::shared_ptr<Scope>& scope, const Arguments& arguments);
  void bind(const MacroBody& macro, const Arguments& arguments, Scope& into);
  Value make_macro(std::shared_ptr<const MacroBody> macro);

  Value evaluate(const Expr& expr);
  Value evaluate(const Literal& literal) { return literal.value; }
  Value evaluate(const Name& name);
  Value evaluate(const ListLiteral& list);
  Value evaluate(const DictLiteral& dict);
  Value evaluate(const Unary& unary);
  Value evaluate(const Binary& binary);
  Value evaluate(const Concat& concat);
  Value evaluate(const Compare& compare);
  Value evaluate(const Conditional& conditional);
  Value evaluate(const Attribute& attribute);
  Value evaluate(const Subscript& subscript);
  Value evaluate(const SliceOf& slice);
  Value evaluate(const Call& call);
  Value evaluate(const FilterCall& filter);
  Value evaluate(const TestCall& test);
  Value evaluate_or_none(const ExprPtr& expr);
  bool holds(Compare::Op op, const Value& left, const Value& right);
  Arguments evaluate(const CallArguments& arguments);
  Value call(const Value& callee, const Arguments& arguments);
  Value filtered(const Expr& chain, const Value& subject);  // REQUIRES: a chain of filters that starts with none

  Budget budget_;
  Arena arena_;
  std::shared_ptr<Scope> scope_;
  Text* out_ = nullptr;
  const Value* filter_subject_ = nullptr;  // what a filter or set block hands to its first filter
  int line_ = 0;
};

}  // namespace shardwise::jinja
