// Byte-pair merging by rank: of all neighbouring pairs the one of lowest rank is joined first, the leftmost of equals.
// A heap over a linked list: O(n log n) time and O(n) memory for n symbols, no recursion, so a run of any length is
// safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/text/token_index.h"

namespace shardwise {

// Which symbols join into which. A symbol is a token id; a text that merges speak of but no token spells is given an id
// of its own from `first_spare` up, so that merging through it works, and is spelled out again afterwards.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    int32_t joined;
  };

  // merges: "left right" by rank. Fails on an entry that is not two texts.
  static Result<MergeTable> make(const std::vector<std::string>& merges, const TokenIndex& index, int first_spare);

  const Merge* find(int left, int right) const;                   // nullptr: they do not join
  int symbol_of(std::string_view text, const TokenIndex& index);  // its token, or its spare id
  const std::string& spare_text(int symbol) const { return spare_texts_[symbol - first_spare_]; }

 private:
  struct Slot {
    uint64_t pair = kEmpty;
    Merge merge = {};
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  int first_spare_ = 0;
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  std::vector<std::string> spare_texts_;
  std::unordered_map<std::string, int> spare_ids_;
};

// Merges symbol lists in place. Holds scratch memory: one a thread, used for many lists.
class Merger {
 public:
  explicit Merger(const MergeTable& table) : table_(table) {}
  void merge(std::vector<int>& symbols);

 private:
  struct Candidate {
    uint32_t rank;
    int32_t at;  // of the left symbol
    int32_t left, right, joined;
  };
  void consider(const std::vector<int>& symbols, int at);
  void merge_long(std::vector<int>& symbols);

  const MergeTable& table_;
  std::vector<int32_t> previous_, next_;
  std::vector<Candidate> heap_;
};

}  // namespace shardwise
