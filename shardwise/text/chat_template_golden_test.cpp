// What jinja2 renders, set up as Hugging Face does, against what this engine renders: tests/golden/make_templates.py.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "shardwise/text/chat_template.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::time_t kNow = 1721044800;  // as in make_templates.py

const std::filesystem::path& golden_folder() {
  static const std::filesystem::path kFolder = std::filesystem::path(SHARDWISE_SOURCE_DIR) / "tests/golden/templates";
  return kFolder;
}

Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return Json::parse(file);
}

Result<std::vector<Piece>> rendered(const std::string& source, const Json& context) {
  const Result<ChatTemplate> parsed = ChatTemplate::parse(source);
  if (!parsed) return parsed.error();
  ChatTemplate::Options options;
  options.now = kNow;
  return parsed->render_context(context, options);
}

void expect_as_golden(const Result<std::vector<Piece>>& found, const Json& golden, const std::string& what) {
  if (golden.contains("prompt")) {
    ASSERT_TRUE(found) << what << ": " << found.error().what;
    EXPECT_EQ(concatenate(*found), golden["prompt"].get<std::string>()) << what;
    return;
  }
  ASSERT_FALSE(found) << what << " rendered to: " << concatenate(*found);
  if (!golden.contains("raised")) return;
  EXPECT_TRUE(found.error().what.ends_with(golden["raised"].get<std::string>())) << what << ": " << found.error().what;
}

TEST(ChatTemplateGolden, S02_FormatsRenderAsJinja2Does) {
  const Json conversations = read_json(golden_folder() / "conversations.json");
  std::size_t formats = 0, prompts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder())) {
    if (!entry.path().filename().string().starts_with("format_")) continue;
    ++formats;
    const Json golden = read_json(entry.path());
    for (const auto& item : golden["prompts"].items()) {
      ++prompts;
      const auto found = rendered(golden["template"], conversations[item.key()]);
      expect_as_golden(found, item.value(), golden["name"].get<std::string>() + " / " + item.key());
    }
  }
  EXPECT_GE(formats, 20u);
  EXPECT_GE(prompts, 400u);
}

TEST(ChatTemplateGolden, LanguageIsJinjas) {
  const Json golden = read_json(golden_folder() / "language.json");
  ASSERT_GE(golden["cases"].size(), 100u);
  for (const Json& test : golden["cases"])
    expect_as_golden(rendered(test["template"], golden["context"]), test, test["template"]);
}

// The contents of the conversation "marked" hold § or ¤ around control tokens: no such byte may be trusted.
TEST(ChatTemplateGolden, B41_NoInputIsTrustedInAnyFormat) {
  const Json context = read_json(golden_folder() / "conversations.json")["marked"];
  std::size_t shown = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder())) {
    if (!entry.path().filename().string().starts_with("format_")) continue;
    const Json golden = read_json(entry.path());
    const auto pieces = rendered(golden["template"], context);
    if (!pieces) continue;  // some formats refuse the system message
    bool token_shown = false;
    for (const Piece& piece : *pieces) {
      const bool marked =
          piece.text.find("\xC2\xA7") != std::string::npos || piece.text.find("\xC2\xA4") != std::string::npos;
      EXPECT_FALSE(piece.trusted && marked) << golden["name"] << ": " << piece.text;
      if (!piece.trusted && piece.text.find("<|im_start|>system") != std::string::npos) token_shown = true;
    }
    EXPECT_TRUE(token_shown) << golden["name"];
    ++shown;
  }
  EXPECT_GE(shown, 15u);
}

}  // namespace
}  // namespace shardwise
