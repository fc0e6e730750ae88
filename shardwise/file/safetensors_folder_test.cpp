// Model folders: which files count, and how folder, index and shards must agree.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "shardwise/file/hostile_test.h"
#include "shardwise/file/model_file.h"
#include "shardwise/file/writer.h"

namespace shardwise {
namespace {

namespace fs = std::filesystem;

class ModelFolderTest : public testing::Test {
 protected:
  void SetUp() override { write_file(folder / "config.json", R"({"model_type":"llama","hidden_size":64})"); }

  void write(std::string_view file, std::vector<std::string> names) {
    std::vector<SafetensorsTensor> tensors;
    for (const std::string& name : names) tensors.push_back(f32_tensor(name, {1, 2}, std::array{1.0f, 2.0f}));
    ASSERT_TRUE(write_safetensors(folder / file, tensors));
  }

  // Three shards with the tensors a and b, c, d.
  void write_shards() {
    write("s1.safetensors", {"a", "b"});
    write("s2.safetensors", {"c"});
    write("s3.safetensors", {"d"});
    write_index({{"a", "s1"}, {"b", "s1"}, {"c", "s2"}, {"d", "s3"}});
  }
  void write_index(std::vector<std::pair<std::string, std::string>> map) {
    nlohmann::json index = {{"metadata", {{"total_size", 32}}}};
    for (const auto& [name, shard] : map) index["weight_map"][name] = shard + ".safetensors";
    write_file(folder / "model.safetensors.index.json", index.dump());
  }

  std::string refusal(const std::string& path) {
    return cheap_error([&] { return error_of(ModelFile::open(path)); });
  }
  std::string refusal() { return refusal(folder.path()); }

  Folder folder;
};

TEST_F(ModelFolderTest, OneFileWithItsNeighbours) {
  write("model.safetensors", {"a", "b"});
  write_file(folder / "tokenizer.json", "{}");
  const auto model = ModelFile::open(folder.path());
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(model->format(), ModelFile::Format::Safetensors);
  EXPECT_EQ(model->tensors().size(), 2u);
  EXPECT_EQ(model->config()["hidden_size"], 64);
  EXPECT_EQ(model->config_text(), R"({"model_type":"llama","hidden_size":64})");
  EXPECT_EQ(model->folder().config, folder / "config.json");
  EXPECT_EQ(model->folder().tokenizer, folder / "tokenizer.json");
  EXPECT_EQ(model->folder().tokenizer_config, "");
  EXPECT_EQ(model->folder().generation_config, "");
  EXPECT_EQ(model->paths(), std::vector<std::string>{folder / "model.safetensors"});
}

TEST_F(ModelFolderTest, OneFileByItsOwnPath) {
  write("other.safetensors", {"a"});
  const auto model = ModelFile::open(folder / "other.safetensors");
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(model->config()["model_type"], "llama");
}

TEST_F(ModelFolderTest, ShardsOfAnIndex) {
  write_shards();
  const auto model = ModelFile::open(folder.path());
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(model->tensors().size(), 4u);
  EXPECT_EQ(model->paths().size(), 3u);
  EXPECT_NE(model->tensor("d"), nullptr);
  expect_words(refusal(folder / "s1.safetensors"), {"s1.safetensors", "one of 3 shards", "folder"});
}

TEST_F(ModelFolderTest, WhatLacksIsNamed) {
  expect_words(refusal(), {"neither model.safetensors nor model.safetensors.index.json"});
  write("other.safetensors", {"a"});
  expect_words(refusal(), {"neither", "'other.safetensors'"});
  expect_words(refusal(folder / "config.json"), {"config.json", "only the description", "folder"});
  fs::remove(folder / "config.json");
  expect_words(refusal(), {"no config.json"});
  expect_words(refusal(folder / "other.safetensors"), {"other.safetensors", "config.json"});
  expect_words(refusal(folder / "nowhere"), {"nowhere", "No such file"});
  expect_words(refusal(folder / "nowhere.safetensors"), {"nowhere.safetensors"});
}

TEST_F(ModelFolderTest, B38_AMissingShardIsNamed) {
  write_shards();
  fs::remove(folder / "s2.safetensors");
  expect_words(refusal(), {"index.json", "'s2.safetensors'", "missing"});
}

TEST_F(ModelFolderTest, B38_AShardWithoutItsTensorIsRefused) {
  write_shards();
  write_index({{"a", "s1"}, {"b", "s1"}, {"c", "s2"}, {"d", "s3"}, {"e", "s3"}});
  expect_words(refusal(), {"s3.safetensors", "lacks tensor 'e'"});
}

TEST_F(ModelFolderTest, B38_ATensorOutsideTheIndexIsRefused) {
  write_shards();
  write_index({{"a", "s1"}, {"c", "s2"}, {"d", "s3"}});
  expect_words(refusal(), {"s1.safetensors", "'b'", "index"});
}

TEST_F(ModelFolderTest, B38_ACutShardIsRefused) {
  write_shards();
  fs::resize_file(folder / "s3.safetensors", fs::file_size(folder / "s3.safetensors") - 1);
  expect_words(refusal(), {"s3.safetensors", "'d'", "8", "7"});
}

TEST_F(ModelFolderTest, B37_HostileIndexesAreRefused) {
  write_shards();
  const auto with = [&](std::string_view text) {
    write_file(folder / "model.safetensors.index.json", text);
    return refusal();
  };
  expect_words(with(R"({"weight_map":{"a":"../s1.safetensors"}})"), {"index.json", "'a'", "plain name"});
  expect_words(with(R"({"weight_map":{"a":".."}})"), {"plain name"});
  expect_words(with(R"({"weight_map":{"a":""}})"), {"plain name"});
  expect_words(with(R"({"weight_map":{"a":"s1.safetensors\u0000"}})"), {"plain name"});
  expect_words(with(R"({"weight_map":{"a":7}})"), {"'a'", "no file name"});
  expect_words(with(R"({"weight_map":{"a":"s1.safetensors","a":"s2.safetensors"}})"), {"'a'", "twice"});
  expect_words(with(R"({"weight_map":{}})"), {"weight_map"});
  expect_words(with(R"({"weight_map":[]})"), {"weight_map"});
  expect_words(with("{}"), {"weight_map"});
  expect_words(with("[1]"), {"not an object"});
  expect_words(with("{\"a\":"), {"not valid JSON"});
}

TEST_F(ModelFolderTest, B37_HostileConfigsAreRefused) {
  write("model.safetensors", {"a"});
  const auto with = [&](std::string_view text) {
    write_file(folder / "config.json", text);
    return refusal();
  };
  expect_words(with(R"({"a":)" + std::string(100000, '[') + std::string(100000, ']') + "}"),
               {"config.json", "64 levels"});
  expect_words(with(std::string(100000, '[')), {"config.json", "not an object"});
  expect_words(with(R"({"a":1,"a":2})"), {"config.json", "'a'", "twice"});
  expect_words(with("7"), {"config.json", "not an object"});
  expect_words(with("null"), {"config.json", "not an object"});
  expect_words(with(""), {"config.json", "empty"});
  expect_words(with("{\"a\":\"\xff\"}"), {"config.json", "not valid JSON"});
  expect_words(with(R"({"a":1e999})"), {"config.json", "not valid JSON"});
  expect_words(with(std::string(5 << 20, ' ')), {"config.json", "more than"});
  EXPECT_EQ(with(R"({"a":[{"b":{"a":1}},{"b":2}]})"), "");
}

TEST_F(ModelFolderTest, HeadersAndConfigsAloneServeForPlanning) {
  auto model = ModelFile::open_header(folder.path());
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_TRUE(model->tensors().empty());
  EXPECT_EQ(model->config()["hidden_size"], 64);
  model = ModelFile::open_header(folder / "config.json");
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(model->config()["hidden_size"], 64);
  expect_words(model->require_tensor("a").error().what, {"config.json", "'a'", "missing"});
}

}  // namespace
}  // namespace shardwise
