// A program is a flat list of steps over named values. Whatever looks at a model's forward pass (check, explain, price,
// run) walks this one list.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shardwise/mesh/range.h"
#include "shardwise/tensor/dtype.h"

namespace shardwise {

using Shape = std::vector<Extent>;  // global; no dim appears twice

using ValueId = int;

struct Value {
  enum Role : uint8_t { Input, Weight, Cache, Activation };
  std::string name;  // as explain prints it: Wq, x, kv
  Shape shape;
  DType dtype = DType::F32;
  Role role = Activation;
  bool pinned = false;  // the plan's rules decide its layout; other activations follow from their op
  bool softmax =
      false;  // a softmax not yet divided: H has two more elements, the sum of exponentials and their reference

  // Of a weight: where the file has it. A matrix is [outputs, inputs]; the first `outputs` dims of its shape are its
  // rows.
  std::string tensor = {};
  int64_t first_row = 0;  // of a matrix that the file keeps as part of a larger one
  int outputs = 0;        // 0: a vector

  Layout layout{};  // filled by shard()
  int stage = -1;   // filled by shard(): the stage that holds it

  // Partial values are f64, so that a plan does not change how a sum is rounded; other activations f32.
  bool wide() const;

  const Extent* find(Dim) const;
  bool has(Dim) const;  // of B: whether it lies along sequences
  // Whether cuts by both dims, on two axes, mean something only in mesh order. Rows of the cache are a set: it does not
  // matter who of the others has which of them.
  bool ordered(Dim a, Dim b) const { return meet(a, b) && !(has(Dim::S) && (a == Dim::S || b == Dim::S)); }
};

// What one step computes: some tokens each of any number of sequences, prefill chunks and decodes alike.
struct BatchShape {
  struct Chunk {
    int64_t past = 0;    // rows in the cache
    int64_t tokens = 0;  // in this step; 0: the sequence takes no part
    int64_t wanted = 1;  // of its tokens: how many logits are asked for
    friend bool operator==(const Chunk&, const Chunk&) = default;
  };
  std::vector<Chunk> chunks;  // by sequence slot
  int64_t unit = 1;           // cuts of T fall on its multiples

  int64_t tokens() const;  // T
  int64_t wanted() const;  // R
  int64_t rows() const;    // S: a row for each past and each new token of the sequences that take part
  friend bool operator==(const BatchShape&, const BatchShape&) = default;
};

enum class OpKind : uint8_t {
  Embed,
  Norm,
  Linear,
  Bias,
  Rope,
  Append,
  Attend,
  AttendPart,
  Merge,
  Gate,
  Add,
  Select,
  SumSquares,
  Rescale,
  Output
};

struct Compute {
  OpKind kind;
  std::vector<ValueId> in;
  ValueId out;
  int table = 0;       // of Rope: which of the model's frequency tables
  int64_t chunk = 0;   // of Linear: columns that are summed in f32, sums of chunks in f64; cuts fall on them. 0: all
  int64_t window = 0;  // of Attend: rows a token sees, 0: all
  float scale = 1;     // of Embed: of the embedding; of Attend: of q . k
  float eps = 0;       // of Norm, Rescale
  int flavor = 0;      // of Gate: which activation (the model's)
};
struct Collective {
  Move move;
  int axis;
  ValueId in, out;
};
struct Shift {  // to the next coord along an axis; does not block: whoever reads `out` waits for it
  int axis;
  ValueId in, out;
};
struct Transfer {  // to the same coordinates of a later stage
  int from_stage, to_stage;
  ValueId in, out;
};

struct Step {
  std::variant<Compute, Collective, Shift, Transfer> op;
  int layer = 0;
  int stage = 0;
};

struct Program {
  Mesh mesh;            // one rank until shard()
  int stage_axis = -1;  // the axis that cuts L
  std::vector<Value> values;
  std::vector<Step> steps;

  const Value& value(ValueId id) const { return values[size_t(id)]; }
  int stage(int rank) const { return stage_axis < 0 ? 0 : mesh.coord(rank, stage_axis); }
  ValueId add(Value);
  ValueId compute(Compute, Value out, int layer);
};

// One row per op: all that the layout algebra and the pricer need to know about it. What an op's operands are named
// decides how it may be cut: a dim of the output passes through, a dim only in the inputs is summed.
struct OpRule {
  std::string_view name;
  double flops;                 // per point of the product of its dims
  std::vector<Dim> whole;       // dims the op must see uncut
  Reduce reduce = Reduce::Sum;  // how a cut contracted dim is put together again
};
const OpRule& rule(OpKind);
bool may_cut(OpKind, Dim);

// Rows and columns of a weight matrix that a rank holds (columns: whole quantisation blocks).
Range rows(const Value&, const Layout&, const Mesh&, int rank);
Range columns(const Value&, const Layout&, const Mesh&, int rank);       // what it works on
Range held_columns(const Value&, const Layout&, const Mesh&, int rank);  // what it stores

// Bytes of a value on a rank, and on the rank that has most of it.
double local_bytes(const Value&, const Layout&, const Mesh&, int rank);
double largest_bytes(const Value&, const Layout&, const Mesh&);

}  // namespace shardwise
