// Streams give what the whole text gives, however it is cut.
#include "shardwise/text/stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "shardwise/text/utf8.h"

namespace shardwise {
namespace {

using Texts = std::vector<std::string>;

Texts streamed(const Texts& tokens) {
  TextStream stream;
  Texts out;
  for (const std::string& token : tokens) out.push_back(stream.push(token));
  out.push_back(stream.finish());
  return out;
}

TEST(TextStream, B43_CharactersAreNeverCutBetweenChunks) {
  EXPECT_EQ(streamed({"\xF0", "\x9F", "\x98", "\x80"}), (Texts{"", "", "", "\U0001F600", ""}));
  EXPECT_EQ(streamed({"\xE6\xAD", "\xAA"}), (Texts{"", "\u6B6A", ""}));
  EXPECT_EQ(streamed({"\x80"}), (Texts{"\uFFFD", ""}));
  EXPECT_EQ(streamed({"\xC3"}), (Texts{"", "\uFFFD"}));
  EXPECT_EQ(streamed({"\xE6\xAD", "x"}), (Texts{"", "\uFFFDx", ""}));
  EXPECT_EQ(streamed({"a", "", "b"}), (Texts{"a", "", "b", ""}));
  EXPECT_EQ(streamed({"\xF0\x9F\x98"}).back(), "\uFFFD");  // three bytes, one mark
}

RC_GTEST_PROP(TextStream, B43_ChunksTogetherAreTheSanitisedText, ()) {
  const auto byte =
      rc::gen::element<char>('a', '\x80', '\xBF', '\xC3', '\xE6', '\xED', '\xF0', '\x9F', '\x98', '\xFF', '\xA0');
  const auto tokens = *rc::gen::container<Texts>(rc::gen::container<std::string>(byte));
  std::string bytes, text;
  TextStream stream;
  for (const std::string& token : tokens) {
    const std::string chunk = stream.push(token);
    RC_ASSERT(is_utf8(chunk));
    bytes += token;
    text += chunk;
    bool least = false;  // all has come out but at most three bytes
    for (size_t waiting = 0; waiting <= std::min<size_t>(3, bytes.size()); ++waiting) {
      least |= text == sanitised(std::string_view(bytes).substr(0, bytes.size() - waiting));
    }
    RC_ASSERT(least);
  }
  const std::string tail = stream.finish();
  RC_ASSERT(tail.empty() || tail == kReplacement);
  RC_ASSERT(text + tail == sanitised(bytes));
}

struct Outcome {
  Texts sent;
  bool stopped;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  for (const std::string& text : outcome.sent) out << '[' << text << ']';
  return out << (outcome.stopped ? " stopped" : "");
}

Outcome matched(const Texts& stops, const Texts& pieces) {
  auto matcher = StopMatcher::make(stops);
  Outcome out{{}, false};
  for (const std::string& piece : pieces) out.sent.push_back(matcher->push(piece));
  out.sent.push_back(matcher->finish());
  out.stopped = matcher->stopped();
  return out;
}

TEST(StopMatcher, B44_NothingOfAStopStringIsSent) {
  EXPECT_EQ(matched({"CDEFG"}, {"AB", "CDE", "F", "G", "H"}), (Outcome{{"AB", "", "", "", "", ""}, true}));
  EXPECT_EQ(matched({"CDEFG"}, {"AB", "CDE", "X"}), (Outcome{{"AB", "", "CDEX", ""}, false}));
  EXPECT_EQ(matched({"!"}, {"AB", "C!D"}), (Outcome{{"AB", "C", ""}, true}));
  EXPECT_EQ(matched({"ab", "abc"}, {"xabc"}), (Outcome{{"x", ""}, true}));
  EXPECT_EQ(matched({"abc", "ab"}, {"xa", "b"}), (Outcome{{"x", "", ""}, true}));
  EXPECT_EQ(matched({"w", "xx", "yyy", "END"}, {"aE", "N", "Dx"}), (Outcome{{"a", "", "", ""}, true}));
  EXPECT_EQ(matched({"END"}, {"aE", "N"}), (Outcome{{"a", "", "EN"}, false}));  // the text ends within a beginning
  EXPECT_EQ(matched({}, {"a", "b"}), (Outcome{{"a", "b", ""}, false}));
  EXPECT_EQ(matched({"aab"}, {"a", "a", "a", "b"}),
            (Outcome{{"", "", "a", "", ""}, true}));                                // falls back to a shorter one
  EXPECT_EQ(matched({"bcd", "c"}, {"ab", "cd"}), (Outcome{{"a", "b", ""}, true}));  // complete first
  EXPECT_EQ(matched({"c", "bc"}, {"abc"}), (Outcome{{"a", ""}, true}));             // the longest at one byte
  EXPECT_EQ(matched({"\u00e9\u00e8"}, {"x\u00e9", "y"}), (Outcome{{"x", "\u00e9y", ""}, false}));
}

TEST(StopMatcher, B44_AnEmptyStopStringIsRefused) {
  const auto made = StopMatcher::make({"a", ""});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("empty"), std::string::npos);
}

TEST(StopMatcher, TellsWhichStopStringItFound) {
  auto matcher = StopMatcher::make({"xyz", "yz!"});
  EXPECT_EQ(matcher->push("axy"), "a");
  EXPECT_EQ(matcher->matched(), "");
  EXPECT_EQ(matcher->push("z!"), "");
  EXPECT_EQ(matcher->matched(), "xyz");
  EXPECT_EQ(matcher->push("more"), "");
}

// The first end of a stop string in the whole text, found by trying every place; the longest of those that end there.
std::string slow_cut(const Texts& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

RC_GTEST_PROP(StopMatcher, B44_HoweverTheTextIsCutTheOutcomeIsTheSame, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b'));
  const Texts stops = *rc::gen::container<Texts>(rc::gen::nonEmpty(letters));
  const Texts pieces = *rc::gen::container<Texts>(letters);
  auto matcher = StopMatcher::make(stops);
  std::string all, sent;
  for (const std::string& piece : pieces) {
    sent += matcher->push(piece);
    all += piece;
    if (matcher->stopped()) continue;
    size_t live = 0;  // the longest end of the text that begins a stop string, short of being one
    for (const std::string& stop : stops) {
      for (size_t n = 1; n < stop.size() && n <= all.size(); ++n) {
        if (all.ends_with(stop.substr(0, n))) live = std::max(live, n);
      }
    }
    RC_ASSERT(sent.size() == all.size() - live);
  }
  sent += matcher->finish();
  RC_ASSERT(sent == slow_cut(stops, all));
}

}  // namespace
}  // namespace shardwise
