// Texts of a hundred thousand characters without a break: no crash on a small stack, and time that grows with length.
#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "shardwise/text/test_vocabularies.h"
#include "shardwise/text/tokenizer.h"

namespace shardwise {
namespace {

#if defined(__has_feature)
#define SHARDWISE_HAS(name) __has_feature(name)
#else
#define SHARDWISE_HAS(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || SHARDWISE_HAS(address_sanitizer) || \
    SHARDWISE_HAS(thread_sanitizer)
constexpr size_t kStackBytes = 1 << 20;  // sanitizers widen every frame
constexpr size_t kLong = 1 << 14;        // and slow every access
#else
constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kLong = 1 << 17;
#endif

void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread;
  const auto run = [](void* work) -> void* {
    (*static_cast<const std::function<void()>*>(work))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<void*>(static_cast<const void*>(&work))), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

double thread_seconds() {  // of this thread alone: a busy machine does not count
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string repeated(std::string_view unit, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += unit;
  return text;
}

std::string random_letters(size_t count) {
  std::mt19937 random(1);
  std::string text(count, 0);
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

// Merges that keep long runs busy: doubling, and all pairs of letters.
std::vector<std::string> busy_merges() {
  std::vector<std::string> merges;
  for (const std::string letter : {"A", "Z", ".", "\u0120", "_", "\u010a"}) {
    for (std::string run = letter; run.size() < 64; run += run) merges.push_back(run + " " + run);
  }
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) merges.push_back(std::string{a, ' ', b});
  }
  return merges;
}

void expect_safe(const Tokenizer& tokenizer, std::string_view name, size_t letters) {
  const std::string texts[] = {
      repeated("A", 43000),      repeated("Z", kLong),  repeated(".", 26000),       repeated(" ", 26000) + "x",
      repeated("\u6f22", 26000), repeated("_", 50000),  repeated("\n", 60000),      repeated(" \t", 40000) + "\nx",
      repeated("\u0301", 30000), repeated("7", 30000),  repeated("a\u0301", 20000), repeated("'", 30000),
      repeated("\xFF", 50000),   repeated("Aa", 50000), random_letters(letters),
  };
  on_small_stack([&] {
    for (const std::string& text : texts) {
      const std::vector<int> ids = tokenizer.encode(text, true);
      EXPECT_TRUE(tokenizer.decode(ids) == text) << name << ": " << text.substr(0, 12);
    }
  });
}

void expect_near_linear(const Tokenizer& tokenizer, std::string_view name) {
  for (const std::string unit : {"Z", " ", "\u6f22", "7"}) {
    double best[2] = {1e9, 1e9};
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (const int size : {0, 1}) {
        const std::string text = repeated(unit, kLong / 2 << size) + "x";
        const double begin = thread_seconds();
        tokenizer.encode(text, false);
        best[size] = std::min(best[size], thread_seconds() - begin);
      }
    }
    EXPECT_LT(best[1], 1.0) << name << ": " << unit;
    EXPECT_LT(best[1], 3 * best[0] + 0.002) << name << ": " << unit;
  }
}

TEST(Tokenizer, B32_LongRunsAreSafeAndNearlyLinear) {
  std::map<const void*, bool> seen;  // names share rules
  for (const std::string_view name : pretokenizer_names()) {
    if (!seen.try_emplace(pretokenizer_rule(name)->patterns.data(), true).second) continue;
    const auto tokenizer = Tokenizer::make(byte_vocabulary(busy_merges(), std::string(name)));
    ASSERT_TRUE(tokenizer);
    expect_safe(*tokenizer, name, seen.size() == 1 ? 8 * kLong : kLong);
    expect_near_linear(*tokenizer, name);
  }
}

TEST(Tokenizer, B32_LongRunsOfSentencePieces) {
  std::vector<std::pair<std::string, float>> pieces;
  float score = 0;
  for (const std::string unit : {"A", "Z", ".", "\u2581", "_", "\u6f22", "a", "7"}) {
    for (std::string run = unit; run.size() < 100; run += run) pieces.emplace_back(run, --score);
  }
  const auto tokenizer = Tokenizer::make(piece_vocabulary(pieces));
  ASSERT_TRUE(tokenizer);
  expect_safe(*tokenizer, "by score", 8 * kLong);
  expect_near_linear(*tokenizer, "by score");
}

}  // namespace
}  // namespace shardwise
