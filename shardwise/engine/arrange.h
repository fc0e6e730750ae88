// The order of a step's tokens. Programs cut T into contiguous ranges; which token stands where is free, since each
// carries its sequence and position, and decides how much attention work each range has.
#pragma once

#include <optional>
#include <vector>

#include "shardwise/program/program.h"

namespace shardwise {

// order[i]: the token, numbered by slot and then by position, that stands at place i of the step. Tokens of a sequence
// are dealt to the ranks in two intervals each, an early and a late one (zigzag), so that every range sees about the
// mean of the causal pairs; by whole units of the shape, so that a page of the cache is filled by one rank. The first
// unit of a slot goes to the range of rank holders[slot], if any: it fills up a page that lies there. Nothing, when
// that can not be for all slots. Tokens are left as they are where a cut by sequence lies inside a cut of T.
std::optional<std::vector<int64_t>> arrange(const BatchShape&, const Mesh&, const Extent& tokens,
                                            const Layout& token_cuts, const std::vector<int>& holders);

}  // namespace shardwise
