// The two ways of merging against the definition: scan all pairs, join the best, begin again.
#include "shardwise/text/bpe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace shardwise {
namespace {

using Ids = std::vector<int>;

const std::vector<std::string> kTokens = {"a",  "b",    "c",   "ab",   "bc",  "aa", "aaaa",     "abc",
                                          "ca", "abab", "aaa", "bcab", "cab", "bb", "aaaaaaaa", "abcabc"};
// "cc" is made by a merge, and merged on, but is no token.
const std::vector<std::string> kMerges = {"a a", "a b",  "aa aa", "ab c", "b c",       "c a",     "ab ab", "aa a",
                                          "c c", "cc a", "bc ab", "ca b", "aaaa aaaa", "abc abc", "b b"};

Ids slow_merge(Ids symbols, const MergeTable& table) {
  for (;;) {
    const MergeTable::Merge* best = nullptr;
    size_t at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const MergeTable::Merge* merge = table.find(symbols[i], symbols[i + 1]);
      if (merge && (!best || merge->rank < best->rank)) best = merge, at = i;
    }
    if (!best) return symbols;
    symbols[at] = best->joined;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

struct Tables {
  TokenIndex index{kTokens, std::vector<bool>(kTokens.size(), true)};
  MergeTable table = *MergeTable::make(kMerges, index, static_cast<int>(kTokens.size()));
};

TEST(Merger, JoinsTheLowestRankFirstAndTheLeftmostOfEquals) {
  const Tables t;
  const auto merged = [&](const char* text) {
    Ids symbols;
    for (const char* c = text; *c; ++c) symbols.push_back(*c - 'a');
    Merger(t.table).merge(symbols);
    std::string out;
    for (const int id : symbols) (out += out.empty() ? "" : "|") += id < 16 ? kTokens[id] : t.table.spare_text(id);
    return out;
  };
  EXPECT_EQ(merged(""), "");
  EXPECT_EQ(merged("a"), "a");
  EXPECT_EQ(merged("aaa"), "aaa");   // aa|a, then aa a
  EXPECT_EQ(merged("aab"), "aa|b");  // "a a" ranks before "a b"
  EXPECT_EQ(merged("abc"), "abc");
  EXPECT_EQ(merged("cca"), "c|ca");  // "c a" ranks before "c c"
  EXPECT_EQ(merged("ccb"), "cc|b");  // a symbol that is no token
}

RC_GTEST_PROP(Merger, ShortAndLongListsAgreeWithTheDefinition, ()) {
  static const Tables t;
  const int size = *rc::gen::inRange(0, 200);  // both sides of the length from which a heap is used
  Ids symbols = *rc::gen::container<Ids>(size, rc::gen::weightedElement<int>({{5, 0}, {2, 1}, {2, 2}}));
  const Ids want = slow_merge(symbols, t.table);
  Merger(t.table).merge(symbols);
  RC_ASSERT(symbols == want);
}

TEST(MergeTable, AnEntryThatIsNotTwoTextsIsRefused) {
  const TokenIndex index(kTokens, std::vector<bool>(kTokens.size(), true));
  for (const char* merge : {"", "a", "ab", "a ", " "}) {
    EXPECT_FALSE(MergeTable::make({"a b", merge}, index, 16)) << merge;
  }
  EXPECT_TRUE(MergeTable::make({"  a"}, index, 16));  // the left text is a space
}

TEST(TokenIndex, FindsWhatItHoldsAndNothingElse) {
  const std::vector<std::string> tokens = {"a", "", "longer than eight", "a", "longer than eighu", "hidden"};
  const TokenIndex index(tokens, {true, true, true, true, true, false});
  EXPECT_EQ(index.find("a"), 0);  // the first of two
  EXPECT_EQ(index.find("longer than eight"), 2);
  EXPECT_EQ(index.find("longer than eighu"), 4);
  EXPECT_EQ(index.find("longer than eigh"), -1);
  EXPECT_EQ(index.find("hidden"), -1);
  EXPECT_EQ(index.find("much longer than any token that it holds"), -1);
}

}  // namespace
}  // namespace shardwise
