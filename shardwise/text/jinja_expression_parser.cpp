// Recursive descent over expressions; each node knows its height, and the stream its depth.
#include "shardwise/text/jinja_expression_parser.h"

#include <algorithm>
#include <optional>

namespace shardwise::jinja {

template <class Node>
ExprPtr ExpressionParser::make(int line, int height, Node node) {
  if (height + 1 > kMaxTreeHeight) stop("line {}: an expression has more than {} levels", line, kMaxTreeHeight);
  return std::make_unique<Expr>(Expr{line, height + 1, std::move(node)});
}

int ExpressionParser::height_of(const CallArguments& arguments) {
  int height = std::max(height_of(arguments.more_positional), height_of(arguments.more_named));
  for (const auto& argument : arguments.positional) height = std::max(height, height_of(argument));
  for (const auto& [name, argument] : arguments.named) height = std::max(height, height_of(argument));
  return height;
}

ExprPtr ExpressionParser::expression() {
  const TokenStream::Level level(stream_);
  ExprPtr value = any_of();
  while (stream_.at_name("if")) {
    const int line = stream_.take().line;
    ExprPtr test = any_of();
    ExprPtr otherwise = stream_.take_name("else") ? expression() : nullptr;
    const int height = std::max({height_of(value), height_of(test), height_of(otherwise)});
    value = make(line, height, Conditional{std::move(test), std::move(value), std::move(otherwise)});
  }
  return value;
}

ExprPtr ExpressionParser::any_of() {
  ExprPtr left = all_of();
  while (stream_.at_name("or")) {
    const int line = stream_.take().line;
    ExprPtr right = all_of();
    const int height = std::max(height_of(left), height_of(right));
    left = make(line, height, Binary{Binary::Op::Or, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::all_of() {
  ExprPtr left = negation();
  while (stream_.at_name("and")) {
    const int line = stream_.take().line;
    ExprPtr right = negation();
    const int height = std::max(height_of(left), height_of(right));
    left = make(line, height, Binary{Binary::Op::And, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::negation() {
  if (!stream_.at_name("not")) return comparison();
  const TokenStream::Level level(stream_);
  const int line = stream_.take().line;
  ExprPtr of = negation();
  const int height = height_of(of);
  return make(line, height, Unary{Unary::Op::Not, std::move(of)});
}

ExprPtr ExpressionParser::comparison() {
  static constexpr std::pair<std::string_view, Compare::Op> kOps[] = {
      {"==", Compare::Op::Equal},     {"!=", Compare::Op::NotEqual}, {"<", Compare::Op::Less},
      {"<=", Compare::Op::LessEqual}, {">", Compare::Op::Greater},   {">=", Compare::Op::GreaterEqual}};
  const auto take_op = [&]() -> std::optional<Compare::Op> {
    for (const auto& [text, op] : kOps)
      if (stream_.take_op(text)) return op;
    if (stream_.take_name("in")) return Compare::Op::In;
    if (!stream_.at_name("not") || !stream_.after().is_name("in")) return std::nullopt;
    stream_.take();
    stream_.take();
    return Compare::Op::NotIn;
  };
  const int line = stream_.now().line;
  Compare compare{sum(), {}};
  int height = height_of(compare.first);
  while (const auto op = take_op()) {
    compare.rest.emplace_back(*op, sum());
    height = std::max(height, height_of(compare.rest.back().second));
  }
  if (compare.rest.empty()) return std::move(compare.first);
  return make(line, height, std::move(compare));
}

ExprPtr ExpressionParser::sum() {
  ExprPtr left = concatenation();
  while (stream_.at_op("+") || stream_.at_op("-")) {
    const Token op = stream_.take();
    ExprPtr right = concatenation();
    const int height = std::max(height_of(left), height_of(right));
    const auto kind = op.is("+") ? Binary::Op::Add : Binary::Op::Subtract;
    left = make(op.line, height, Binary{kind, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::concatenation() {
  const int line = stream_.now().line;
  Concat concat;
  concat.parts.push_back(product());
  int height = height_of(concat.parts.back());
  while (stream_.take_op("~")) {
    concat.parts.push_back(product());
    height = std::max(height, height_of(concat.parts.back()));
  }
  if (concat.parts.size() == 1) return std::move(concat.parts.front());
  return make(line, height, std::move(concat));
}

ExprPtr ExpressionParser::product() {
  static constexpr std::pair<std::string_view, Binary::Op> kOps[] = {{"*", Binary::Op::Multiply},
                                                                     {"/", Binary::Op::Divide},
                                                                     {"//", Binary::Op::FloorDivide},
                                                                     {"%", Binary::Op::Modulo}};
  ExprPtr left = power();
  for (;;) {
    const auto op =
        std::find_if(std::begin(kOps), std::end(kOps), [&](const auto& o) { return stream_.at_op(o.first); });
    if (op == std::end(kOps)) return left;
    const int line = stream_.take().line;
    ExprPtr right = power();
    const int height = std::max(height_of(left), height_of(right));
    left = make(line, height, Binary{op->second, std::move(left), std::move(right)});
  }
}

ExprPtr ExpressionParser::power() {
  ExprPtr left = sign(true);
  while (stream_.at_op("**")) {  // Jinja groups to the left, unlike Python
    const int line = stream_.take().line;
    ExprPtr right = sign(true);
    const int height = std::max(height_of(left), height_of(right));
    left = make(line, height, Binary{Binary::Op::Power, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::sign(bool with_filters) {
  ExprPtr value;
  if (stream_.at_op("-") || stream_.at_op("+")) {
    const TokenStream::Level level(stream_);
    const Token op = stream_.take();
    ExprPtr of = sign(false);
    const int height = height_of(of);
    value = make(op.line, height, Unary{op.is("-") ? Unary::Op::Negate : Unary::Op::Plus, std::move(of)});
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExprPtr ExpressionParser::primary() {
  const Token token = stream_.now();
  const auto literal = [&](Value value) { return make(token.line, 0, Literal{std::move(value)}); };
  switch (token.kind) {
    case Token::Kind::Name:
      stream_.take();
      if (token.text == "true" || token.text == "True") return literal(Value(true));
      if (token.text == "false" || token.text == "False") return literal(Value(false));
      if (token.text == "none" || token.text == "None") return literal(Value(None{}));
      names_seen.insert(token.text);
      return make(token.line, 0, Name{token.text});
    case Token::Kind::String: {
      std::string text;
      while (stream_.now().kind == Token::Kind::String) text += stream_.take().text;
      return literal(Value(Text(std::move(text), true)));
    }
    case Token::Kind::Integer: stream_.take(); return literal(Value(token.integer));
    case Token::Kind::Float: stream_.take(); return literal(Value(token.real));
    default: break;
  }
  if (token.is("[")) return list();
  if (token.is("{")) return dict();
  if (!stream_.take_op("(")) stream_.fail_here("expected a value, found {}", described(token));
  if (stream_.take_op(")")) return make(token.line, 0, ListLiteral{true, {}});
  ExprPtr inner = tuple(true);
  stream_.expect_op(")");
  return inner;
}

ExprPtr ExpressionParser::tuple(bool conditional) {
  const int line = stream_.now().line;
  const auto at_end = [&] {
    const Token& token = stream_.now();
    return token.kind == Token::Kind::PrintEnd || token.kind == Token::Kind::BlockEnd || token.is(")") ||
           (!conditional && token.is_name("recursive"));
  };
  ListLiteral items{true, {}};
  int height = 0;
  bool comma = false;
  while (!(comma && at_end())) {
    items.items.push_back(conditional ? expression() : any_of());
    height = std::max(height, height_of(items.items.back()));
    if (!stream_.take_op(",")) break;
    comma = true;
  }
  if (!comma) return std::move(items.items.front());
  return make(line, height, std::move(items));
}

ExprPtr ExpressionParser::list() {
  const int line = stream_.take().line;
  ListLiteral items{false, {}};
  int height = 0;
  while (!stream_.at_op("]")) {
    if (!items.items.empty()) stream_.expect_op(",");
    if (stream_.at_op("]")) break;
    items.items.push_back(expression());
    height = std::max(height, height_of(items.items.back()));
  }
  stream_.expect_op("]");
  return make(line, height, std::move(items));
}

ExprPtr ExpressionParser::dict() {
  const int line = stream_.take().line;
  DictLiteral dict;
  int height = 0;
  while (!stream_.at_op("}")) {
    if (!dict.items.empty()) stream_.expect_op(",");
    if (stream_.at_op("}")) break;
    ExprPtr key = expression();
    stream_.expect_op(":");
    ExprPtr value = expression();
    height = std::max({height, height_of(key), height_of(value)});
    dict.items.emplace_back(std::move(key), std::move(value));
  }
  stream_.expect_op("}");
  return make(line, height, std::move(dict));
}

ExprPtr ExpressionParser::postfix(ExprPtr of) {
  while (stream_.at_op(".") || stream_.at_op("[") || stream_.at_op("("))
    of = stream_.at_op("(") ? call(std::move(of)) : subscript(std::move(of));
  return of;
}

ExprPtr ExpressionParser::filters_and_tests(ExprPtr of) {
  for (;;) {
    if (stream_.at_op("|")) {
      of = filters(std::move(of));
    } else if (stream_.at_name("is")) {
      of = test(std::move(of));
    } else if (stream_.at_op("(")) {
      of = call(std::move(of));
    } else {
      return of;
    }
  }
}

ExprPtr ExpressionParser::subscript(ExprPtr of) {
  const Token open = stream_.take();
  const int height = height_of(of);
  if (open.is(".")) {
    if (stream_.now().kind == Token::Kind::Integer) {
      ExprPtr key = primary();
      return make(open.line, std::max(height, height_of(key)), Subscript{std::move(of), std::move(key)});
    }
    return make(open.line, height, Attribute{std::move(of), stream_.expect_name()});
  }
  ExprPtr parts[3];
  int colons = 0;
  if (stream_.at_op("]")) stream_.fail_here("expected a key between '[' and ']'");
  while (!stream_.at_op("]") && colons < 3) {
    if (!stream_.at_op(":")) parts[colons] = expression();
    if (stream_.at_op(",")) stream_.fail_here("a key made of several parts is not supported");
    if (!stream_.take_op(":")) break;
    ++colons;
  }
  stream_.expect_op("]");
  if (colons == 3) stream_.fail_here("a slice has more than three parts");
  const int inner = std::max({height, height_of(parts[0]), height_of(parts[1]), height_of(parts[2])});
  if (colons == 0) return make(open.line, inner, Subscript{std::move(of), std::move(parts[0])});
  return make(open.line, inner, SliceOf{std::move(of), std::move(parts[0]), std::move(parts[1]), std::move(parts[2])});
}

ExprPtr ExpressionParser::call(ExprPtr of) {
  const int line = stream_.now().line;
  CallArguments given = arguments();
  const int height = std::max(height_of(of), height_of(given));
  return make(line, height, Call{std::move(of), std::move(given)});
}

CallArguments ExpressionParser::arguments() {
  CallArguments given;
  stream_.expect_op("(");
  while (!stream_.at_op(")")) {
    argument(given);
    if (!stream_.at_op(")")) stream_.expect_op(",");
  }
  stream_.expect_op(")");
  return given;
}

void ExpressionParser::argument(CallArguments& into) {
  if (stream_.at_op("*") || stream_.at_op("**")) {
    const bool named = stream_.take().is("**");
    if (into.more_named || (!named && into.more_positional)) stream_.fail_here("arguments are in the wrong order");
    (named ? into.more_named : into.more_positional) = expression();
  } else if (stream_.now().kind == Token::Kind::Name && stream_.after().is("=")) {
    if (into.more_named) stream_.fail_here("arguments are in the wrong order");
    std::string name = stream_.expect_name();
    stream_.expect_op("=");
    into.named.emplace_back(std::move(name), expression());
  } else {
    if (into.more_positional || into.more_named || !into.named.empty())
      stream_.fail_here("an argument without a name follows one with a name");
    into.positional.push_back(expression());
  }
}

ExprPtr ExpressionParser::filter(ExprPtr of) {
  const int line = stream_.now().line;
  std::string name = stream_.expect_name();
  while (stream_.take_op(".")) name += "." + stream_.expect_name();
  CallArguments given;
  if (stream_.at_op("(")) given = arguments();
  const int height = std::max(height_of(of), height_of(given));
  return make(line, height, FilterCall{std::move(of), std::move(name), std::move(given)});
}

ExprPtr ExpressionParser::filters(ExprPtr of) {
  while (stream_.take_op("|")) of = filter(std::move(of));
  return of;
}

ExprPtr ExpressionParser::filter_chain() { return filters(filter(nullptr)); }

ExprPtr ExpressionParser::test(ExprPtr of) {
  const int line = stream_.take().line;
  const bool negated = stream_.take_name("not");
  std::string name = stream_.expect_name();
  while (stream_.take_op(".")) name += "." + stream_.expect_name();
  CallArguments given;
  const Token& next = stream_.now();
  const bool value_follows = next.kind == Token::Kind::Name || next.kind == Token::Kind::String ||
                             next.kind == Token::Kind::Integer || next.kind == Token::Kind::Float || next.is("[") ||
                             next.is("{");
  if (next.is("(")) {
    given = arguments();
  } else if (value_follows && !next.is_name("else") && !next.is_name("or") && !next.is_name("and")) {
    if (next.is_name("is")) stream_.fail_here("tests cannot be chained with 'is'");
    const TokenStream::Level level(stream_);
    given.positional.push_back(postfix(primary()));
  }
  const int height = std::max(height_of(of), height_of(given));
  ExprPtr made = make(line, height, TestCall{std::move(of), std::move(name), std::move(given)});
  return negated ? make(line, height + 1, Unary{Unary::Op::Not, std::move(made)}) : std::move(made);
}

Target ExpressionParser::one_target() {
  if (stream_.take_op("(")) {
    const TokenStream::Level level(stream_);
    Target inner = target();
    stream_.expect_op(")");
    return inner;
  }
  Target one;
  one.name = stream_.expect_name();
  for (const std::string_view word : {"true", "false", "none", "True", "False", "None"})
    if (one.name == word) stream_.fail_here("cannot assign to '{}'", word);
  if (stream_.take_op(".")) one.attribute = stream_.expect_name();
  return one;
}

Target ExpressionParser::target() {
  Target first = one_target();
  if (!stream_.at_op(",")) return first;
  Target all;
  all.is_tuple = true;
  all.parts.push_back(std::move(first));
  while (stream_.take_op(",")) {
    if (stream_.at_name("in") || stream_.at_op("=") || stream_.at_op(")")) break;
    all.parts.push_back(one_target());
  }
  return all;
}

}  // namespace shardwise::jinja
