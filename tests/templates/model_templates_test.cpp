// The chat templates that model files carry, against the prompts that jinja2 gives for them (make_templates.py). The
// templates are not stored here: SHARDWISE_MODELS names a folder with smollm2.gguf and qwen05.gguf.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "shardwise/file/model_file.h"
#include "shardwise/text/chat_template.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

Json read_golden(const std::string& name) {
  std::ifstream file(std::filesystem::path(SHARDWISE_SOURCE_DIR) / "tests/golden/templates" / name);
  EXPECT_TRUE(file) << name;
  return Json::parse(file);
}

class ModelTemplates : public testing::TestWithParam<const char*> {};

TEST_P(ModelTemplates, S02_RenderAsJinja2Does) {
  const char* folder = std::getenv("SHARDWISE_MODELS");
  if (!folder) GTEST_SKIP() << "SHARDWISE_MODELS names no folder of models";
  const std::string name = GetParam();
  const auto path = std::filesystem::path(folder) / (name + ".gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";

  const auto file = ModelFile::open(path.string());
  ASSERT_TRUE(file) << file.error().what;
  const auto source = file->metadata().text("tokenizer.chat_template");
  ASSERT_TRUE(source) << "the model has no chat template";
  const auto chat = ChatTemplate::parse(*source);
  ASSERT_TRUE(chat) << chat.error().what;

  const Json conversations = read_golden("conversations.json"), golden = read_golden("model_" + name + ".json");
  ChatTemplate::Options options;
  options.now = 1721044800;  // as in make_templates.py
  for (const auto& item : golden["prompts"].items()) {
    const auto pieces = chat->render_context(conversations[item.key()], options);
    ASSERT_EQ(static_cast<bool>(pieces), item.value().contains("prompt")) << item.key();
    if (!pieces) continue;
    EXPECT_EQ(concatenate(*pieces), item.value()["prompt"].get<std::string>()) << item.key();
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ModelTemplates, testing::Values("smollm2", "qwen05"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace shardwise
