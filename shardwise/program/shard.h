// Turns a logical program into the one that each rank runs, and passes over it.
#pragma once

#include <string>
#include <vector>

#include "shardwise/program/plan.h"

namespace shardwise {

// Places every value and inserts the collectives and transfers that the placements call for. When operands disagree
// along an axis, the move of fewest bytes wins. Weight matrices never move.
Program shard(const Program& logical, const Plan&);

// Keys and values gathered for an attend go round a ring instead: each part leaves for the next rank while it is
// attended to, and partial results are merged. Liu, Zaharia and Abbeel 2023.
Program ring(const Program&);

// shard(), then the passes that the plan asks for.
Program compile(const Program& logical, const Plan&);

std::vector<std::string> check(const Program&);  // empty when every step is legal

// One line a step, in the notation of the scaling book: stage.layer, op, operands -> result.
std::string explain(const Program&);
std::string text(const Value&, const Mesh&);  // x[T_cp,D]
std::string text(const Program&, const Step&);

}  // namespace shardwise
