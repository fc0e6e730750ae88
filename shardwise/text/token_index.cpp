// Open addressing with linear probing.
#include "shardwise/text/token_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardwise {
namespace {

uint64_t hash_of(std::string_view text) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15u;
  uint64_t hash = text.size() * kOdd;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 29;
  };
  uint64_t word = 0;
  while (text.size() >= 8) {
    std::memcpy(&word, text.data(), 8);
    mix(word);
    text.remove_prefix(8);
  }
  word = 0;
  for (const char c : text) word = word << 8 | static_cast<uint8_t>(c);
  mix(word);
  mix(hash >> 32);
  return hash;
}

}  // namespace

TokenIndex::TokenIndex(const std::vector<std::string>& tokens, const std::vector<bool>& keep)
    : tokens_(tokens.data()), slots_(std::bit_ceil(2 * tokens.size() + 2)) {
  const size_t mask = slots_.size() - 1;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (!keep[id]) continue;
    longest_ = std::max(longest_, tokens[id].size());
    const uint64_t hash = hash_of(tokens[id]);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t at = hash & mask;
    while (slots_[at].id >= 0 && !(slots_[at].tag == tag && tokens[slots_[at].id] == tokens[id])) at = (at + 1) & mask;
    if (slots_[at].id < 0) slots_[at] = {tag, static_cast<int32_t>(id)};
  }
}

int TokenIndex::find(std::string_view text) const {
  if (text.size() > longest_) return -1;
  const size_t mask = slots_.size() - 1;
  const uint64_t hash = hash_of(text);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & mask; slots_[at].id >= 0; at = (at + 1) & mask) {
    if (slots_[at].tag == tag && tokens_[slots_[at].id] == text) return slots_[at].id;
  }
  return -1;
}

}  // namespace shardwise
