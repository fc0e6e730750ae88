// The order of a step's tokens. Programs cut T into contiguous ranges; which token stands where is free, since each
// carries its sequence and position, and decides how much attention work each range has.
#pragma once

#include <optional>
#include <vector>

#include "shardwise/engine/cache_index.h"

namespace shardwise {

// order[i]: the token of `shape`, numbered by slot and then by position, that stands at place i of the step. `shape` is
// what is `asked` for, filled up to whole units; `cuts` is how tokens are cut when they attend, and by sequence. Tokens
// are dealt to the ranges that the cuts leave, by whole units, so that a page of the cache is filled by one rank and
// every range sees about the mean of the causal pairs; tokens of a sequence stay where a cut by sequence has it. The
// first unit of a slot goes where rank holders[slot], if any, appends it: it fills up a page that lies there. Nothing,
// when that can not be for all slots.
std::optional<std::vector<int64_t>> arrange(const BatchShape& asked, const BatchShape& shape, const RowLayout& rows,
                                            const Layout& cuts, const std::vector<int>& holders);

}  // namespace shardwise
