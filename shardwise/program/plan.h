// A plan: a mesh and a list of `dim:axis`. Everything else follows from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shardwise/program/program.h"

namespace shardwise {

struct Rule {
  Dim dim;
  int axis;
  Dim beside;  // only of values that also have this dim: `SK:cp` cuts the heads of the cache, not those of the weights

  friend bool operator==(const Rule&, const Rule&) = default;
};

// How attention meets the tokens of other ranks. Priced: the move of fewest bytes.
enum class Attention : uint8_t { Priced, Gather, Ring, Ulysses };

// Where a model's dims go. Rules are tried in order; a rule holds for a value that has the dim, when the axis is
// still free there and more than one granule is left to cut: with one token `T:cp` leaves it to every rank. What ranks
// cannot share, all copy. An axis of one rank cuts nothing: no move could undo it ("a=1; D:a" left norm with a cut D).
// The axis that cuts L cuts nothing else: its ranks hold different steps. Of a matrix only the outermost row and column
// dim is cut, so that a rank's part is one block of rows and columns.
struct Plan {
  std::string text = "none";  // as the user wrote it
  Mesh mesh;
  std::vector<Rule> rules;
  Attention attention = Attention::Priced;

  Layout layout(const Value&) const;
  int stage_axis() const;  // -1 when nothing cuts L
  int stage(int layer, int layers) const;
};

// "tp=4", "cp=2:ring", "pp=3(8,10,12),tp=2(3,5)", "none"; or with rules: "pp=2,tp=2; L:pp K:tp F:tp(1,2) V:tp".
// A short form stands for all that its axes may cut: pp L; dp B; cp S and T (ulysses: T and the heads of the cache); tp
// K, F, V. G:axis is K:axis, since K is cut on the scale of query heads. "auto" is not a plan: the caller resolves it.
Result<Plan> parse_plan(std::string_view text);

// Stages whose sizes are given must hold every layer: weights of L that do not add up to `layers` are refused.
Status check_layers(const Plan&, int layers);

}  // namespace shardwise
