// Recursive descent over statements.
#include "shardwise/text/jinja_parser.h"

#include <initializer_list>
#include <utility>

#include "shardwise/text/jinja_expression_parser.h"
#include "shardwise/text/jinja_token_stream.h"

namespace shardwise::jinja {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view source) : stream_(tokens_of(source)), expressions_(stream_) {}

  Body run() { return body({}); }

 private:
  using Names = std::initializer_list<std::string_view>;

  // Statements up to a tag named in `ends`, whose name is then the current token; all of them where `ends` is empty.
  Body body(Names ends) {
    const TokenStream::Level level(stream_);
    Body out;
    for (;;) {
      const Token token = stream_.now();
      switch (token.kind) {
        case Token::Kind::End:
          if (ends.size() > 0) stream_.fail_here("the template ends, expected '{}'", *(ends.end() - 1));
          return out;
        case Token::Kind::Data:
          stream_.take();
          out.push_back({token.line, TextOutput{Text(token.text, true)}});
          break;
        case Token::Kind::PrintBegin:
          stream_.take();
          out.push_back({token.line, Print{expressions_.tuple(true)}});
          stream_.expect(Token::Kind::PrintEnd);
          break;
        default:
          stream_.expect(Token::Kind::BlockBegin);
          for (const std::string_view end : ends)
            if (stream_.at_name(end)) return out;
          out.push_back(statement());
          stream_.expect(Token::Kind::BlockEnd);
      }
    }
  }

  Body block(Names ends) {
    stream_.take_op(":");
    stream_.expect(Token::Kind::BlockEnd);
    return body(ends);
  }

  Body block_to(std::string_view end) {
    Body out = block({end});
    stream_.expect_name(end);
    return out;
  }

  Stmt statement() {
    const Token tag = stream_.now();
    const std::string name = stream_.expect_name();
    const int line = tag.line;
    if (name == "if") return {line, if_statement()};
    if (name == "for") return {line, for_statement()};
    if (name == "set") return set_statement(line);
    if (name == "macro") return {line, macro_statement()};
    if (name == "call") return {line, call_block()};
    if (name == "with") return {line, with_statement()};
    if (name == "generation") return {line, Scoped{block_outside_loops("endgeneration")}};
    if (name == "filter") {
      ExprPtr filter = expressions_.filter_chain();
      return {line, FilterBlock{std::move(filter), block_to("endfilter")}};
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) stop("line {}: '{}' stands outside of a loop", line, name);
      if (name == "break") return {line, Break{}};
      return {line, Continue{}};
    }
    for (const std::string_view other : {"include", "import", "from", "extends", "block"})
      if (name == other) stop("line {}: '{}' is refused: a chat template is one file", line, name);
    stop("line {}: unknown tag '{}'", line, name);
  }

  // A macro's body is a function of its own: a break in it cannot leave a loop around it.
  Body block_outside_loops(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body out = block_to(end);
    loops_ = loops;
    return out;
  }

  If if_statement() {
    If out;
    for (;;) {
      ExprPtr test = expressions_.tuple(false);
      Body then = block({"elif", "else", "endif"});
      out.branches.emplace_back(std::move(test), std::move(then));
      if (!stream_.take_name("elif")) break;
    }
    if (stream_.take_name("else")) out.otherwise = block({"endif"});
    stream_.expect_name("endif");
    return out;
  }

  For for_statement() {
    For out;
    out.target = expressions_.target();
    stream_.expect_name("in");
    out.over = expressions_.tuple(false);
    if (stream_.take_name("if")) out.only_if = expressions_.expression();
    out.recursive = stream_.take_name("recursive");
    ++loops_;
    out.body = block({"else", "endfor"});
    --loops_;
    if (stream_.take_name("else")) out.otherwise = block({"endfor"});
    stream_.expect_name("endfor");
    return out;
  }

  Stmt set_statement(int line) {
    Target target = expressions_.target();
    if (stream_.take_op("=")) return {line, Set{std::move(target), expressions_.tuple(true)}};
    ExprPtr filter = stream_.take_op("|") ? expressions_.filter_chain() : nullptr;
    return {line, SetBlock{std::move(target), std::move(filter), block_to("endset")}};
  }

  With with_statement() {
    With out;
    while (stream_.now().kind != Token::Kind::BlockEnd) {
      if (!out.values.empty()) stream_.expect_op(",");
      Target target = expressions_.target();
      stream_.expect_op("=");
      out.values.emplace_back(std::move(target), expressions_.expression());
    }
    out.body = block_to("endwith");
    return out;
  }

  void signature(MacroBody& macro) {
    stream_.expect_op("(");
    while (!stream_.at_op(")")) {
      if (!macro.parameters.empty()) stream_.expect_op(",");
      Parameter parameter{stream_.expect_name(), nullptr};
      if (stream_.take_op("=")) {
        parameter.otherwise = expressions_.expression();
      } else if (!macro.parameters.empty() && macro.parameters.back().otherwise) {
        stream_.fail_here("parameter '{}' without a default follows one with a default", parameter.name);
      }
      macro.parameters.push_back(std::move(parameter));
    }
    stream_.expect_op(")");
  }

  void macro_body(MacroBody& macro, std::string_view end) {
    std::set<std::string> outer = std::exchange(expressions_.names_seen, {});
    macro.body = block_outside_loops(end);
    macro.uses_varargs = expressions_.names_seen.contains("varargs");
    macro.uses_kwargs = expressions_.names_seen.contains("kwargs");
    macro.uses_caller = expressions_.names_seen.contains("caller");
    expressions_.names_seen.merge(outer);
  }

  DefineMacro macro_statement() {
    auto macro = std::make_shared<MacroBody>();
    macro->name = stream_.expect_name();
    signature(*macro);
    macro_body(*macro, "endmacro");
    return {std::move(macro)};
  }

  CallBlock call_block() {
    auto caller = std::make_shared<MacroBody>();
    caller->name = "caller";
    if (stream_.at_op("(")) signature(*caller);
    ExprPtr call = expressions_.expression();
    if (!std::holds_alternative<Call>(call->is)) stream_.fail_here("a call block needs a call");
    macro_body(*caller, "endcall");
    return {std::move(caller), std::move(call)};
  }

  TokenStream stream_;
  ExpressionParser expressions_;
  int loops_ = 0;  // around the current token, within the current macro
};

}  // namespace

Body parse(std::string_view source) { return Parser(source).run(); }

}  // namespace shardwise::jinja
