// Greedy answers of real models: every plan gives the tokens of one rank, from logits that are the same to the bit.
#include <algorithm>

#include "shardwise/engine/generate.h"
#include "tests/model/real_models.h"

namespace shardwise {
namespace {

constexpr int kTokens = 64;
constexpr const char* kShort = "The three primary colours are";
constexpr const char* kLong =
    "A lighthouse keeper kept two books. In the first he wrote down every ship that passed: her name, her colours, the "
    "hour, and how the sea was that day. In the second he wrote what he thought she carried, for he had nobody to ask. "
    "Grain from the south, he would guess, or timber, or a family with all they owned. In forty years he was never "
    "told "
    "once whether he had been right. When he grew old, a young woman came to take over the lamp, and he showed her "
    "both "
    "books. She read in the first for an evening, and in the second for a whole winter. In spring she asked him why "
    "there was no third book, in which one might write what the ships really carried. The old keeper thought about it "
    "for a long time, and then he answered:";

struct Way {
  const char* name;
  std::vector<const char*> plans;
};

struct Case {
  const char* model;
  Way way;
};

class Answers : public OnRealModel, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    open(GetParam().model);
    if (model_) prompts_ = {model_->ids(kShort), model_->ids(kLong)};
  }

  // Each of the prompts in a slot of its own, from empty slots.
  std::vector<Answer> answers(Engine& engine, const std::vector<std::vector<int>>& prompts) const {
    std::vector<Request> requests;
    for (const auto& prompt : prompts) {
      engine.truncate(int(requests.size()), 0);
      Request r;
      r.prompt = prompt, r.max_tokens = kTokens;
      requests.push_back(std::move(r));
    }
    auto generation = generate(engine, requests);
    EXPECT_TRUE(generation) << generation.error().what;
    return generation ? std::move(generation->answers) : std::vector<Answer>(prompts.size());
  }

  std::unique_ptr<Engine> start_for_answers(const char* plan) const {
    return start(plan, int(prompts_.size()), int64_t(prompts_[1].size()) + kTokens);
  }

  static void expect_same(const Answer& found, const Answer& one_rank, const std::string& what) {
    EXPECT_EQ(found.tokens, one_rank.tokens) << what;
    EXPECT_EQ(found.logits_hash, one_rank.logits_hash) << what;
  }

  std::vector<std::vector<int>> prompts_;
};

TEST_P(Answers, AreThoseOfOneRank) {
  ASSERT_GT(prompts_[1].size(), 140u);
  ASSERT_LT(prompts_[1].size(), 180u);
  std::vector<Answer> alone;
  {
    const auto engine = start_for_answers("none");
    ASSERT_TRUE(engine);
    for (const auto& prompt : prompts_) alone.push_back(answers(*engine, {prompt})[0]);
  }
  for (const Answer& a : alone) ASSERT_EQ(a.tokens.size(), size_t(kTokens));
  ASSERT_NE(alone[0].tokens, alone[1].tokens);
  for (const char* plan : GetParam().way.plans) {
    const auto engine = start_for_answers(plan);
    ASSERT_TRUE(engine);
    const std::string under = std::string(" under ") + plan;
    const auto together = answers(*engine, prompts_);
    expect_same(together[0], alone[0], "the short prompt beside another" + under);
    expect_same(together[1], alone[1], "the long prompt beside another" + under);
    expect_same(answers(*engine, {prompts_[1]})[0], alone[1], "the long prompt alone" + under);
  }
}

std::vector<Case> cases() {
  const std::vector<Way> ways = {
      {"Company", {"none"}},
      {"Weights", {"tp=2", "tp=3", "tp=4", "tp=5"}},
      {"Activations", {"cp=2:gather", "cp=2:ring", "cp=2:ulysses", "cp=3:gather", "cp=3:ring", "cp=3:ulysses", "dp=2"}},
      {"Stages", {"pp=2", "pp=3", "pp=4", "pp=7"}},
      {"Mixes", {"pp=2,tp=2", "cp=2,tp=2", "pp=2,cp=2,tp=2"}}};
  std::vector<Case> all;
  for (const char* model : kRealModels)
    for (const Way& way : ways) all.push_back({model, way});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, Answers, testing::ValuesIn(cases()),
                         [](const auto& c) { return std::string(c.param.model) + "_" + c.param.way.name; });

}  // namespace
}  // namespace shardwise
