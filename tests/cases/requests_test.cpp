// Requests do not touch one another: not in a batch, not by a prefix that stays in the cache, not by being wrong.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cases/session.h"

namespace shardwise {
namespace {

using testing::HasSubstr;

const std::vector<const char*> kPlans = {"none", "tp=2", "pp=2", "cp=2", "dp=2", "cp=3:ring"};
constexpr int kSlots = 8, kSubject = 3, kDecoded = 32;

// Logits of the subject's tokens while seven others come at other steps, with prompts in chunks, and rest now and then.
std::vector<float> in_company(Session& session, const std::vector<int>& prompt, const std::vector<int>& answer) {
  constexpr size_t kArrival = 2;
  std::vector<float> own;
  std::vector<size_t> fed(kSlots, 0);
  for (size_t step = 0; step < kArrival + 1 + answer.size(); ++step) {
    std::vector<Chunk> chunks;
    for (int slot = 0; slot < kSlots; ++slot) {
      if (slot == kSubject) {
        if (step == kArrival) chunks.push_back({slot, prompt, int64_t(prompt.size())});
        if (step > kArrival) chunks.push_back({slot, {answer[step - kArrival - 1]}, 1});
        continue;
      }
      const auto s = size_t(slot), all = 3 + 9 * s;
      if (step < s || (step + s) % 5 == 0) continue;
      const size_t n = fed[s] < all ? std::min<size_t>(16, all - fed[s]) : 1;
      chunks.push_back({slot, random_ids(n, 256, unsigned(100 * s + step)), step % 3 == 0 ? 0 : 1});
      fed[s] += n;
    }
    size_t before = 0, rows = 0;
    for (const Chunk& c : chunks) {
      if (c.slot < kSubject) before += size_t(c.wanted);
      if (c.slot == kSubject) rows = size_t(c.wanted);
    }
    const auto logits = session.step(std::move(chunks));
    const auto at = logits.begin() + std::ptrdiff_t(before * 256);
    own.insert(own.end(), at, at + std::ptrdiff_t(rows * 256));
  }
  return own;
}

TEST(Requests, B28_GreedyDoesNotDependOnTheCompany) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 3}, folder.file("m.gguf"));
  for (const size_t length : {7, 16, 23, 41, 60}) {
    const std::vector<int> prompt = random_ids(length, 256, unsigned(length));
    Session one(model, "none");
    const Answer answer = one.answer({.prompt = prompt, .max_tokens = kDecoded});
    ASSERT_EQ(answer.tokens.size(), size_t(kDecoded));
    for (int again = 0; again < 4; ++again)
      EXPECT_EQ(one.answer({.prompt = prompt, .max_tokens = kDecoded}).logits_hash, answer.logits_hash);
    auto alone = one.fresh(prompt);
    for (int id : answer.tokens)
      for (float x : one.add(0, {id})) alone.push_back(x);
    for (const char* plan : kPlans) {
      Session session(model, plan, {.sequences = kSlots});
      EXPECT_EQ(difference(alone, in_company(session, prompt, answer.tokens)), 0) << plan << ", prompt of " << length;
    }
  }
}

TEST(Requests, B28_ABatchGivesEachTheTokensOfItsOwn) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 3}, folder.file("m.gguf"));
  std::vector<Request> requests;
  for (const size_t length : {7, 60, 16, 23, 41})
    requests.push_back({.prompt = random_ids(length, 256, unsigned(length)), .max_tokens = int(length) / 2});
  for (const char* plan : kPlans) {
    Session session(model, plan, {.sequences = 5});
    const auto generated = generate(session.engine(), requests);
    ASSERT_TRUE(generated) << generated.error().what;
    for (size_t i = 0; i < requests.size(); ++i) {
      const Answer alone = Session(model, "none").answer(requests[i]);
      EXPECT_EQ(generated->answers[i].tokens, alone.tokens) << plan;
      EXPECT_EQ(generated->answers[i].logits_hash, alone.logits_hash) << plan;
      EXPECT_EQ(generated->answers[i].finish, "length") << plan;
    }
  }
}

// As a server reuses a slot: what the sequence in it and the prompt share stays, but for one token.
std::vector<float> reuse(Session& session, int slot, std::vector<int>& cached, const std::vector<int>& prompt) {
  const auto shared = std::mismatch(cached.begin(), cached.end(), prompt.begin(), prompt.end()).second - prompt.begin();
  const auto kept = std::min<std::ptrdiff_t>(shared, std::ptrdiff_t(prompt.size()) - 1);
  session.engine().truncate(slot, kept);
  EXPECT_EQ(session.engine().length(slot), kept);
  cached = prompt;
  return session.add(slot, {prompt.begin() + kept, prompt.end()});
}

struct Prompts {
  std::vector<int> a = random_ids(40, 256, 15), b{a.begin(), a.begin() + 10}, c = a, d{a.begin(), a.begin() + 39},
                   e = a;
  Prompts() {
    for (int id : random_ids(12, 256, 16)) b.push_back(id);
    e.push_back(77);
  }
};

std::vector<float> tail(const std::vector<float>& logits, size_t n) {
  return {logits.end() - std::ptrdiff_t(n), logits.end()};
}

TEST(Requests, B29_AReusedPrefixHasNothingOfItsFormerTail) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 3}, folder.file("m.gguf"));
  const Prompts p;
  Session one(model, "none");
  for (const char* plan : kPlans)
    for (const int64_t unit : {16, 1}) {
      Session session(model, plan, {.unit = unit});
      std::vector<int> cached;
      for (const auto* prompt : {&p.a, &p.b, &p.a, &p.c, &p.d, &p.e, &p.b, &p.e}) {
        const auto logits = reuse(session, 0, cached, *prompt);
        ASSERT_GE(logits.size(), 256U);
        EXPECT_LE(difference(tail(one.fresh(*prompt), logits.size()), logits), unit == 1 ? 1e-4 : 0)
            << plan << ", unit " << unit;
        const auto next = session.add(0, {9});  // and goes on
        EXPECT_LE(difference(one.add(0, {9}), next), unit == 1 ? 1e-4 : 0) << plan << ", unit " << unit;
        cached.push_back(9);
      }
    }
}

TEST(Requests, B29_NeighboursKeepTheirOwn) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 3}, folder.file("m.gguf"));
  const Prompts p;
  Session one(model, "none");
  for (const char* plan : kPlans) {
    Session session(model, plan, {.sequences = 2});
    std::vector<int> first, second;
    for (const auto& [x, y] : {std::pair{&p.a, &p.b}, {&p.b, &p.a}, {&p.d, &p.e}, {&p.a, &p.a}}) {
      const auto left = reuse(session, 0, first, *x), right = reuse(session, 1, second, *y);
      EXPECT_EQ(difference(tail(one.fresh(*x), left.size()), left), 0) << plan;
      EXPECT_EQ(difference(tail(one.fresh(*y), right.size()), right), 0) << plan;
      const auto both = session.step({{0, {5}, 1}, {1, {6}, 1}});
      one.fresh(*x);
      auto apart = one.add(0, {5});
      one.fresh(*y);
      for (float v : one.add(0, {6})) apart.push_back(v);
      EXPECT_EQ(difference(apart, both), 0) << plan;
      first.push_back(5), second.push_back(6);
    }
  }
}

TEST(Requests, B47_AWrongRequestIsRefusedAndStopsNobody) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({}, folder.file("m.gguf"));
  const Request good{.prompt = {1, 2, 255}, .max_tokens = 5};
  const Answer truth = Session(model, "none").answer(good);
  auto sampling = [&](const SamplingOptions& o) {
    Request r = good;
    r.sampling = o;
    return r;
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<Request, std::string>> bad = {
      {{.prompt = {256}, .max_tokens = 1}, "token id 256"},
      {{.prompt = {3, -1, 4}, .max_tokens = 1}, "token id -1"},
      {{.prompt = {std::numeric_limits<int>::max()}, .max_tokens = 1}, "token id 2147483647"},
      {{.prompt = {std::numeric_limits<int>::min()}, .max_tokens = 1}, "token id -2147483648"},
      {{.prompt = {}, .max_tokens = 1}, "no tokens"},
      {{.prompt = {1}, .max_tokens = -1}, "-1"},
      {{.prompt = {1}, .max_tokens = std::numeric_limits<int>::max()}, "2147483647"},
      {{.prompt = random_ids(129, 256, 1), .max_tokens = 1}, "129"},
      {sampling({.temperature = -1}), "temperature"},
      {sampling({.temperature = 1e9}), "temperature"},
      {sampling({.temperature = nan}), "temperature"},
      {sampling({.temperature = inf}), "temperature"},
      {sampling({.top_k = -5}), "top-k"},
      {sampling({.top_p = 0}), "top-p"},
      {sampling({.top_p = nan}), "top-p"},
      {sampling({.min_p = 1.5}), "min-p"},
      {sampling({.repeat_penalty = 0}), "penalty"},
      {sampling({.repeat_penalty = nan}), "penalty"},
  };
  for (const char* plan : {"none", "tp=2", "pp=2"}) {
    Session session(model, plan, {.sequences = 2});
    for (const auto& [request, named] : bad) {
      // Beside a good one, on either side of it: nothing runs, and the next request is answered.
      for (const auto& batch : {std::vector<Request>{request}, {good, request}, {request, good}}) {
        const auto refused = generate(session.engine(), batch);
        ASSERT_FALSE(refused) << named;
        EXPECT_THAT(refused.error().what, HasSubstr(named));
        EXPECT_EQ(session.engine().length(0), 0) << named;
      }
      const Answer next = session.answer(good);
      EXPECT_EQ(next.tokens, truth.tokens) << plan << " after " << named;
      EXPECT_EQ(next.logits_hash, truth.logits_hash) << plan << " after " << named;
      session.engine().truncate(0, 0);
    }
    EXPECT_FALSE(generate(session.engine(), {good, good, good})) << "three for two slots";
  }
}

TEST(Requests, B47_OptionsWithoutALimitAreTaken) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({}, folder.file("m.gguf"));
  Session session(model, "tp=2");
  Request plain{.prompt = {1, 2, 255}, .max_tokens = 5, .sampling = {.temperature = 1}};
  Request wide = plain;
  wide.sampling.top_k = 1000000000;
  wide.stops = {256, -1};
  EXPECT_EQ(session.answer(wide).tokens, session.answer(plain).tokens);
  plain.sampling.top_k = 1;
  const Answer greedy = session.answer({.prompt = {1, 2, 255}, .max_tokens = 5});
  EXPECT_EQ(session.answer(plain).tokens, greedy.tokens);
}

TEST(Requests, S09_ChunksOfAPromptGiveTheBitsOfOneStep) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 3}, folder.file("m.gguf"));
  const std::vector<int> ids = random_ids(65, 256, 17);
  for (const char* plan : {"none", "tp=2", "pp=2", "cp=2", "cp=2:ring", "cp=2:ulysses"}) {
    Session one(model, "none"), session(model, plan);
    for (std::ptrdiff_t n : {31, 32, 33, 64, 65}) {
      const std::vector<int> prompt(ids.begin(), ids.begin() + n);
      const auto right = one.fresh(prompt);
      EXPECT_EQ(difference(right, session.fresh(prompt, 32)), 0) << plan << ", " << n << " tokens";
      EXPECT_EQ(difference(right, session.fresh(prompt)), 0) << plan << ", " << n << " tokens";
    }
  }
}

// With stages generate() cuts prompts into chunks of 32.
TEST(Requests, S09_GenerationCutsPromptsWithoutATrace) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model({.layers = 3}, folder.file("m.gguf"));
  for (const size_t n : {31, 32, 33, 64, 65}) {
    const Request request{.prompt = random_ids(n, 256, 17), .max_tokens = 5};
    const Answer truth = Session(model, "none").answer(request);
    for (const char* plan : {"pp=2", "pp=3", "pp=2,cp=2"}) {
      const Answer answer = Session(model, plan).answer(request);
      EXPECT_EQ(answer.tokens, truth.tokens) << plan << ", " << n << " tokens";
      EXPECT_EQ(answer.logits_hash, truth.logits_hash) << plan << ", " << n << " tokens";
    }
  }
}

}  // namespace
}  // namespace shardwise
