// From a text to the id of the token spelled so. A flat table with a tag of the hash beside each id: a miss almost
// never touches the strings, which lie scattered in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardwise {

class TokenIndex {
 public:
  // Holds the ids with keep[id]; of two tokens with one text the first counts. `tokens` must outlive the index.
  TokenIndex(const std::vector<std::string>& tokens, const std::vector<bool>& keep);

  int find(std::string_view text) const;       // -1: none
  size_t longest() const { return longest_; }  // bytes of the longest text held

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t id = -1;
  };

  const std::string* tokens_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t longest_ = 0;
};

}  // namespace shardwise
