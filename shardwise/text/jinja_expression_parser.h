// Expressions of the grammar, loosest first: x if c else y, or, and, not, comparisons, + -, ~, * / // %, **, signs,
// then what follows a primary: .name [key] (arguments) |filter and `is test`.
#pragma once

#include <set>
#include <string>

#include "shardwise/text/jinja_ast.h"
#include "shardwise/text/jinja_token_stream.h"

namespace shardwise::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  ExprPtr expression();             // with x if c else y
  ExprPtr tuple(bool conditional);  // one expression, or several with commas between them
  ExprPtr filters(ExprPtr of);      // |a|b...; null: there are none
  ExprPtr filter_chain();           // a|b..., of a filter block
  Target target();                  // of an assignment; several with commas make a tuple

  std::set<std::string> names_seen;  // every name used, so that a macro knows whether it wants caller or varargs

 private:
  template <class Node>
  ExprPtr make(int line, int height, Node node);
  static int height_of(const ExprPtr& expr) { return expr ? expr->height : 0; }
  static int height_of(const CallArguments& arguments);

  ExprPtr any_of();
  ExprPtr all_of();
  ExprPtr negation();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr sign(bool with_filters);
  ExprPtr primary();
  ExprPtr postfix(ExprPtr of);
  ExprPtr filters_and_tests(ExprPtr of);
  ExprPtr subscript(ExprPtr of);
  ExprPtr filter(ExprPtr of);
  ExprPtr test(ExprPtr of);
  ExprPtr call(ExprPtr of);
  ExprPtr list();
  ExprPtr dict();
  CallArguments arguments();
  void argument(CallArguments& into);
  Target one_target();

  TokenStream& stream_;
};

}  // namespace shardwise::jinja
