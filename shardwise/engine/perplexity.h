// Perplexity of a text, in the way llama.cpp measures it: windows side by side, and of each the second half is scored.
#pragma once

#include <functional>
#include <vector>

#include "shardwise/engine/engine.h"

namespace shardwise {

struct Perplexity {
  double value = 0;  // e to the mean of -log p
  int64_t windows = 0, scored_tokens = 0;
};

// How many windows of `context` tokens the ids fill; a rest is left out. At most `most`, if that is not 0.
int64_t window_count(int64_t ids, int64_t context, int64_t most = 0);

// Of the first `windows` windows of the ids, in slot 0, which is emptied for each. A token is scored when it stands in
// the second half of its window behind its first position, each given all before it in the window. `bos` takes the
// place of each window's first token; -1: none does. `progress` hears of windows done, 0 to 1. REQUIRES: at least one
// window, which the ids fill; context at least 4 and not more than the engine's.
Perplexity perplexity(Engine&, const std::vector<int>& ids, int64_t context, int64_t windows, int bos,
                      const std::function<void(double)>& progress = {});

}  // namespace shardwise
