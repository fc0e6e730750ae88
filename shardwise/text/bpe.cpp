// Short lists are scanned, long ones kept in a heap; both join the same pairs in the same order.
#include "shardwise/text/bpe.h"

#include <algorithm>
#include <bit>

namespace shardwise {
namespace {

uint64_t pair_of(int left, int right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

size_t hash_of(uint64_t pair) {
  pair *= 0x9E3779B97F4A7C15u;
  return pair ^ pair >> 32;
}

// Below this many symbols a scan a merge beats the heap: most pre-tokens are words.
constexpr size_t kScanned = 24;

}  // namespace

Result<MergeTable> MergeTable::make(const std::vector<std::string>& merges, const TokenIndex& index, int first_spare) {
  MergeTable table;
  table.first_spare_ = first_spare;
  table.slots_.resize(std::bit_ceil(2 * merges.size() + 2));
  const size_t mask = table.slots_.size() - 1;
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ', 1);  // a left side may itself begin with a space
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return fail("vocabulary: merge {} is '{}', expected two texts with a space between", rank, merge);
    }
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    joined.assign(left).append(right);
    const uint64_t pair = pair_of(table.symbol_of(left, index), table.symbol_of(right, index));
    size_t at = hash_of(pair) & mask;
    while (table.slots_[at].pair != kEmpty && table.slots_[at].pair != pair) at = (at + 1) & mask;
    if (table.slots_[at].pair == pair) continue;  // the first entry ranks
    table.slots_[at] = {pair, {static_cast<uint32_t>(rank), table.symbol_of(joined, index)}};
  }
  return table;
}

const MergeTable::Merge* MergeTable::find(int left, int right) const {
  const uint64_t pair = pair_of(left, right);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash_of(pair) & mask; slots_[at].pair != kEmpty; at = (at + 1) & mask) {
    if (slots_[at].pair == pair) return &slots_[at].merge;
  }
  return nullptr;
}

int MergeTable::symbol_of(std::string_view text, const TokenIndex& index) {
  if (const int id = index.find(text); id >= 0) return id;
  const auto [entry, made] = spare_ids_.try_emplace(std::string(text), first_spare_ + spare_texts_.size());
  if (made) spare_texts_.emplace_back(text);
  return entry->second;
}

void Merger::merge(std::vector<int>& symbols) {
  if (symbols.size() > kScanned) return merge_long(symbols);
  MergeTable::Merge joins[kScanned];  // of symbol i with i + 1
  constexpr uint32_t kNever = ~uint32_t{0};
  const auto join_at = [&](size_t i) {
    const MergeTable::Merge* merge = table_.find(symbols[i], symbols[i + 1]);
    joins[i] = merge ? *merge : MergeTable::Merge{kNever, -1};
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i) join_at(i);
  while (symbols.size() > 1) {
    const size_t pairs = symbols.size() - 1;
    size_t best = 0;
    for (size_t i = 1; i < pairs; ++i) {
      if (joins[i].rank < joins[best].rank) best = i;
    }
    if (joins[best].rank == kNever) return;
    symbols[best] = joins[best].joined;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(joins + best + 1, joins + pairs, joins + best);
    if (best > 0) join_at(best - 1);
    if (best + 1 < symbols.size()) join_at(best);
  }
}

void Merger::consider(const std::vector<int>& symbols, int at) {
  const int left = symbols[at], right = symbols[next_[at]];
  const MergeTable::Merge* merge = table_.find(left, right);
  if (!merge) return;
  heap_.push_back({merge->rank, at, left, right, merge->joined});
}

void Merger::merge_long(std::vector<int>& symbols) {
  constexpr int kEnd = -1, kGone = -2;
  const int count = static_cast<int>(symbols.size());
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  };
  previous_.resize(count);
  next_.resize(count);
  heap_.clear();
  for (int i = 0; i < count; ++i) {
    previous_[i] = i - 1;
    next_[i] = i + 1 < count ? i + 1 : kEnd;
  }
  for (int i = 0; i + 1 < count; ++i) consider(symbols, i);
  std::make_heap(heap_.begin(), heap_.end(), later);
  const auto push = [&](int at) {
    const size_t before = heap_.size();
    consider(symbols, at);
    if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end(), later);
  };
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    const int right = next_[best.at];  // a candidate goes stale when either side has joined another
    if (right < 0 || symbols[best.at] != best.left || symbols[right] != best.right) continue;
    symbols[best.at] = best.joined;
    next_[best.at] = next_[right];
    if (next_[right] != kEnd) previous_[next_[right]] = best.at;
    next_[right] = kGone;
    if (previous_[best.at] >= 0) push(previous_[best.at]);
    if (next_[best.at] != kEnd) push(best.at);
  }
  size_t kept = 0;
  for (int i = 0; i != kEnd; i = next_[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace shardwise
