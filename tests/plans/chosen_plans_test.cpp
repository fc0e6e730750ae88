// Layouts never change results: chosen plans, each for a reason, against one rank.
#include <gtest/gtest.h>

#include "tests/support/plan_runs.h"

namespace shardwise {
namespace {

const Course kOne{1, {{37}, {1}, {1}, {19}, {1}}};
const Course kMany{3, {{5, 40, 0}, {1, 1, 18}, {1, 0, 1}, {33, 1, 1}}};

struct Case {
  const char* name;
  RandomModel model;
  std::vector<const char*> plans;
  bool exact = true;  // the standard ways: not a bit differs
};

class ChosenPlans : public testing::TestWithParam<Case> {};

TEST_P(ChosenPlans, GiveTheLogitsOfOneRank) {
  const ScratchFolder folder;
  const OpenModel model = open_random_model(GetParam().model, folder.file("m.gguf"));
  for (const Course& course : kSanitized ? std::vector{kMany} : std::vector{kOne, kMany}) {
    const auto truth = run_course(model, "none", course);
    ASSERT_LT(difference(truth, truth), 1e-30);
    for (const char* plan : GetParam().plans) {
      if (GetParam().exact) {
        EXPECT_EQ(difference(truth, run_course(model, plan, course)), 0) << plan;
        continue;
      }
      Course cut_anywhere = course;
      cut_anywhere.unit = 1;
      for (const Course& any : {course, cut_anywhere})
        EXPECT_LT(difference(truth, run_course(model, plan, any)), is_quantised(GetParam().model.type) ? 2e-2 : 1e-4)
            << plan << ", unit " << any.unit;
    }
  }
}

const std::vector<const char*> kStandard = {"tp=2",
                                            "tp=3",
                                            "tp=4",
                                            "tp=5",
                                            "tp=8",
                                            "tp=2(3,5)",
                                            "cp=2",
                                            "cp=2:gather",
                                            "cp=2:ring",
                                            "cp=2:ulysses",
                                            "cp=3:ring",
                                            "cp=3:ulysses",
                                            "cp=4",
                                            "dp=2",
                                            "dp=3",
                                            "dp=4",
                                            "pp=2",
                                            "pp=3",
                                            "pp=7",
                                            "pp=2,tp=2",
                                            "cp=2,tp=2",
                                            "tp=2,cp=2:ring",
                                            "cp=2:ulysses,tp=2",
                                            "dp=2,cp=2",
                                            "cp=2,dp=2",
                                            "pp=2,cp=2,tp=2",
                                            "pp=2,dp=2,tp=2",
                                            "dp=2(1,3),cp=2,tp=2(2,1)",
                                            "tp=2; K:tp F:tp V:tp T:tp",
                                            "tp=4; G:tp F:tp",
                                            "cp=2; S:cp",
                                            "cp=2; T:cp",
                                            "pp=2,cp=2,tp=4; L:pp S:cp T:cp K:tp F:tp V:tp",
                                            "a=2,b=2; K:a G:b F:a F:b V:b",
                                            "a=2,b=2; T:a T:b S:a S:b"};
const std::vector<const char*> kOdd = {"tp=2; D:tp",   "a=2,b=2; B:a T:b K:a", "a=2,b=2; T:b B:b S:a B:a",
                                       "a=2; TB:a",    "a=2; TB:a S:a",        "a=1; D:a",
                                       "b=3; T:b F:b", "b=3; T:b V:b",         "a=2,b=3; D:a F:b D:b F:a",
                                       "tp=2; H:tp",   "a=2; L:a K:a",         "a=2,b=2; B:a B:b DK:a"};

// What random plans taught, each once a wrong answer or an abort.
const std::vector<const char*> kTaught = {
    // Tokens were dealt across sequences that another axis cuts.
    "a=2,b=3; TB:a T:b", "a=3,tp=4; T:a TB:tp", "tp=8,c=2; K:tp TB:tp T:c", "pp=4,tp=2; T:pp TB:tp S:pp(4,2,2,5)",
    // Rows gathered along one axis are read by sequence along another.
    "tp=2,a=3; TB:tp S:a", "b=3,c=4; S:c TB:b(1,5,0)", "c=2,tp=3,a=2; S:a S:c S:tp B:c",
    // Rows cut by two axes were gathered along both to be gathered along one.
    "cp=2:ulysses,pp=7; S:pp S:cp V:cp", "tp=3,dp=4; S:tp T:tp S:dp",
    // Rows cut by sequence meet tokens that a major axis cuts by sequence, too.
    "a=2,b=4; TB:a B:b", "a=2,c=2,b=4(1,5,1,4); B:b K:c TB:a D:b(4,0,2,5)",
    // Heads of rows would be cut above another cut of them.
    "a=2,b=2; SK:b DK:a DK:b"};

INSTANTIATE_TEST_SUITE_P(
    Models, ChosenPlans,
    testing::Values(
        Case{"Llama", {}, kStandard}, Case{"LlamaOddRules", {}, kOdd, false}, Case{"LlamaTaught", {}, kTaught, false},
        Case{"OneKvHeadTaught", {.heads = 4, .kv_heads = 1}, kTaught, false},
        Case{"Heads9Kv3",
             {.layers = 2, .d_model = 72, .heads = 9, .kv_heads = 3, .d_ff = 96, .vocab = 250, .tied = true},
             kStandard},
        Case{"OneKvHead", {.layers = 2, .heads = 4, .kv_heads = 1, .d_ff = 104, .vocab = 97}, kStandard},
        Case{"Qwen2Biases", {.architecture = "qwen2", .biases = true}, kStandard},
        Case{"Gemma3",
             {.architecture = "gemma3", .layers = 6, .tied = true, .head_norms = true, .window = 16},
             kStandard},
        Case{
            "Phi3Fused",
            {.architecture = "phi3", .d_model = 64, .heads = 8, .kv_heads = 2, .d_ff = 96, .vocab = 200, .fused = true},
            kStandard},
        Case{"Olmo2FullNorms", {.architecture = "olmo2", .full_norms = true}, kStandard},
        Case{"Q4_1",
             {.d_model = 128, .heads = 4, .kv_heads = 2, .head_size = 32, .d_ff = 512, .type = DType::Q4_1},
             kStandard},
        Case{"Q8_0OddRules", {.d_model = 64, .d_ff = 96, .type = DType::Q8_0}, kOdd, false},
        Case{"Q4_K",
             {.d_model = 256, .heads = 4, .kv_heads = 1, .head_size = 64, .d_ff = 2048, .type = DType::Q4_K},
             kStandard},
        Case{"Q6_KFewBlocks",
             {.d_model = 256, .heads = 8, .kv_heads = 4, .head_size = 32, .d_ff = 768, .type = DType::Q6_K},
             kStandard}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace shardwise
