// A parsed template. Invariant: no node is higher than kMaxTreeHeight, so walking or freeing a tree never recurses far.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shardwise/text/jinja_value.h"

namespace shardwise::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr more_positional, more_named;  // *list and **dict, or null
};

struct Literal {
  Value value;
};
struct Name {
  std::string name;
};
struct ListLiteral {
  bool tuple;
  std::vector<ExprPtr> items;
};
struct DictLiteral {
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};
struct Unary {
  enum class Op { Not, Negate, Plus } op;
  ExprPtr of;
};
struct Binary {
  enum class Op { Or, And, Add, Subtract, Multiply, Divide, FloorDivide, Modulo, Power } op;
  ExprPtr left, right;
};
struct Concat {  // a ~ b ~ c
  std::vector<ExprPtr> parts;
};
struct Compare {  // a < b <= c
  enum class Op { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, NotIn };
  ExprPtr first;
  std::vector<std::pair<Op, ExprPtr>> rest;
};
struct Conditional {
  ExprPtr test, then, otherwise;  // otherwise null: undefined
};
struct Attribute {
  ExprPtr of;
  std::string name;
};
struct Subscript {
  ExprPtr of, key;
};
struct SliceOf {
  ExprPtr of, start, end, step;  // null: left out
};
struct Call {
  ExprPtr callee;
  CallArguments arguments;
};
struct FilterCall {
  ExprPtr of;  // null: the body of a filter or set block
  std::string name;
  CallArguments arguments;
};
struct TestCall {
  ExprPtr of;
  std::string name;
  CallArguments arguments;
};

struct Expr {
  int line;
  int height;
  std::variant<Literal, Name, ListLiteral, DictLiteral, Unary, Binary, Concat, Compare, Conditional, Attribute,
               Subscript, SliceOf, Call, FilterCall, TestCall>
      is;
};

struct Stmt;
using Body = std::vector<Stmt>;

// What a for, set or with assigns to: a name, a namespace's attribute, or a tuple of targets.
struct Target {
  std::string name;
  std::string attribute;      // of the namespace `name`; empty: the name itself
  std::vector<Target> parts;  // not empty, or is_tuple: unpack
  bool is_tuple = false;
};

struct Parameter {
  std::string name;
  ExprPtr otherwise;  // null: undefined
};
struct MacroBody {
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

struct TextOutput {
  Text text;
};
struct Print {
  ExprPtr of;
};
struct If {
  std::vector<std::pair<ExprPtr, Body>> branches;
  Body otherwise;
};
struct For {
  Target target;
  ExprPtr over, only_if;  // only_if may be null
  bool recursive = false;
  Body body, otherwise;
};
struct Set {
  Target target;
  ExprPtr value;
};
struct SetBlock {
  Target target;
  ExprPtr filter;  // null: none
  Body body;
};
struct With {
  std::vector<std::pair<Target, ExprPtr>> values;
  Body body;
};
struct DefineMacro {
  std::shared_ptr<const MacroBody> macro;
};
struct CallBlock {
  std::shared_ptr<const MacroBody> caller;
  ExprPtr call;  // always a Call
};
struct FilterBlock {
  ExprPtr filter;
  Body body;
};
struct Scoped {  // a generation block: its text, with its own variables
  Body body;
};
struct Break {};
struct Continue {};

struct Stmt {
  int line;
  std::variant<TextOutput, Print, If, For, Set, SetBlock, With, DefineMacro, CallBlock, FilterBlock, Scoped, Break,
               Continue>
      is;
};

}  // namespace shardwise::jinja
