// An open model: finding tensors and rows, hints, changes under its feet, and its fingerprint.
#include "shardwise/file/model_file.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "shardwise/file/hostile_test.h"
#include "shardwise/file/writer.h"

namespace shardwise {
namespace {

namespace fs = std::filesystem;

class ModelFileTest : public testing::Test {
 protected:
  // A model with one tensor "w" of `rows` x 1024 floats that count up.
  std::string write_model(int64_t rows, std::string_view name = "m.gguf") {
    std::vector<float> values(size_t(rows) * 1024);
    std::iota(values.begin(), values.end(), 0.0f);
    GgufWriter writer;
    writer.set("general.architecture", "llama");
    writer.tensor("w", {{rows, 1024}}, values);
    EXPECT_TRUE(writer.write(folder / name));
    return folder / name;
  }

  static float first_of(const ModelFile& model, int64_t row) {
    float value;
    std::memcpy(&value, model.row(*model.tensor("w"), row), sizeof value);
    return value;
  }

  Folder folder;
};

TEST_F(ModelFileTest, RowsAreFoundAndStayWhenTheModelMoves) {
  auto opened = ModelFile::open(write_model(8));
  ASSERT_TRUE(opened) << opened.error().what;
  const ModelFile model = *std::move(opened);
  EXPECT_EQ(model.tensor("nothing"), nullptr);
  EXPECT_EQ(ModelFile::row_bytes(*model.tensor("w")), 4096);
  for (int64_t row = 0; row < 8; ++row) EXPECT_EQ(first_of(model, row), float(row * 1024));
  EXPECT_TRUE(model.config().is_null());
  EXPECT_TRUE(model.folder().config.empty());
  EXPECT_EQ(model.metadata().text("general.architecture"), "llama");
}

TEST_F(ModelFileTest, ARowOutsideTheTensorIsOurOwnMistake) {
  const auto model = ModelFile::open(write_model(2));
  ASSERT_TRUE(model);
  const TensorInfo& tensor = *model->tensor("w");
  EXPECT_DEATH((void)model->row(tensor, 2), "row 2 of tensor 'w', which has 2");
  EXPECT_DEATH((void)model->row(tensor, -1), "row -1");
}

TEST_F(ModelFileTest, TensorsThatCannotServeAreRefusedByName) {
  write_file(folder / "config.json", "{}");
  const std::vector<SafetensorsTensor> tensors = {f32_tensor("w", {1}, std::array{1.0f}),
                                                  {"position_ids", "I64", {1}, std::vector<std::byte>(8)}};
  ASSERT_TRUE(write_safetensors(folder / "model.safetensors", tensors));
  const auto model = ModelFile::open(folder.path());
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ((*model->require_tensor("w"))->name, "w");
  EXPECT_EQ(model->unsupported("position_ids"), "has type I64");
  EXPECT_EQ(model->unsupported("w"), std::nullopt);
  EXPECT_EQ(model->tensor("position_ids"), nullptr);
  expect_words(model->require_tensor("position_ids").error().what, {"model.safetensors", "'position_ids'", "I64"});
  expect_words(model->require_tensor("lm_head.weight").error().what, {"'lm_head.weight'", "missing"});
}

TEST_F(ModelFileTest, HintsChangeNoBytes) {
  const auto model = ModelFile::open(write_model(64));
  ASSERT_TRUE(model);
  const TensorInfo& w = *model->tensor("w");
  const std::span all(w.data, size_t(w.bytes));
  EXPECT_TRUE(model->prefetch(all));
  EXPECT_TRUE(model->prefetch(all.subspan(5000, 10)));
  EXPECT_TRUE(model->release(all.subspan(4000, 10000)));
  EXPECT_TRUE(model->release(all));
  EXPECT_TRUE(model->release(all.first(0)));
  for (int64_t row = 0; row < 64; ++row) EXPECT_EQ(first_of(*model, row), float(row * 1024));
  EXPECT_TRUE(model->verify_unchanged());
  std::byte elsewhere{};
  EXPECT_DEATH((void)model->prefetch({&elsewhere, 1}), "none of the model's files");
}

TEST_F(ModelFileTest, B38_AFileThatShrinksWhileReadIsAnErrorNotACrash) {
  const std::string path = write_model(64);
  const auto model = ModelFile::open(path);
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->verify_unchanged());
  fs::resize_file(path, 16384);
  EXPECT_EQ(first_of(*model, 63), 0.0f);  // beyond the file's new end: would be a fatal SIGBUS on a bare map
  expect_words(model->verify_unchanged().error().what, {"m.gguf", "16384"});
  EXPECT_NE(error_of(model->fingerprint()), std::nullopt);
}

TEST_F(ModelFileTest, B38_AFileThatShrankForAWhileIsNotTrusted) {
  const std::string path = write_model(64);
  const std::string whole = read_file(path);
  const auto model = ModelFile::open(path);
  ASSERT_TRUE(model);
  const auto written = fs::last_write_time(path);
  fs::resize_file(path, 16384);
  EXPECT_EQ(first_of(*model, 40), 0.0f);
  write_file(path, whole);
  fs::last_write_time(path, written);
  expect_words(model->verify_unchanged().error().what, {"m.gguf", "could not be read"});
}

TEST_F(ModelFileTest, B38_AFileWrittenToIsReported) {
  const std::string path = write_model(4);
  const auto model = ModelFile::open(path);
  ASSERT_TRUE(model);
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
  expect_words(model->verify_unchanged().error().what, {"m.gguf", "written to"});
}

TEST_F(ModelFileTest, AReplacedFileKeepsItsBytes) {
  const std::string path = write_model(8);
  const auto model = ModelFile::open(path);
  ASSERT_TRUE(model);
  write_model(2, "new.gguf");
  fs::rename(folder / "new.gguf", path);
  EXPECT_EQ(first_of(*model, 7), 7.0f * 1024);
  EXPECT_TRUE(model->verify_unchanged());
}

TEST_F(ModelFileTest, FingerprintsTellModelsApart) {
  const std::string path = write_model(256), copy = folder / "copy.gguf";
  const auto print = [](const std::string& file) {
    const auto model = ModelFile::open(file);
    EXPECT_TRUE(model) << model.error().what;
    return *model->fingerprint();
  };
  fs::copy_file(path, copy);
  const uint64_t original = print(path);
  EXPECT_EQ(print(copy), original);
  std::string bytes = read_file(path);
  for (const size_t at : {bytes.size() - 1, bytes.find("llama"), bytes.size() - (size_t{1} << 20)}) {
    std::string changed = bytes;
    changed[at] = char(changed[at] ^ 1);
    write_file(copy, changed);
    EXPECT_NE(print(copy), original) << at;
  }
  write_model(255, "copy.gguf");
  EXPECT_NE(print(copy), original);
}

TEST_F(ModelFileTest, WhatIsNoModelIsRefused) {
  const auto refusal = [&](const std::string& path) {
    return cheap_error([&] { return error_of(ModelFile::open(path)); });
  };
  expect_words(refusal(folder / "absent.gguf"), {"absent.gguf", "No such file"});
  expect_words(refusal(""), {"cannot be opened"});
  write_file(folder / "empty.gguf", "");
  expect_words(refusal(folder / "empty.gguf"), {"empty.gguf", "empty"});
  write_file(folder / "text.gguf", "hello world");
  expect_words(refusal(folder / "text.gguf"), {"text.gguf", "'hell'", "not a GGUF file"});
  expect_words(refusal("/dev/null"), {"not a regular file"});
  expect_words(refusal(folder.path()), {"no config.json", "'empty.gguf'"});
}

TEST_F(ModelFileTest, ALargeVocabularyIsOpenedAtTheCostOfASmallOne) {
  std::vector<std::string> words;
  for (int i = 0; i < 262144; ++i) words.push_back(fmt::format("token{}", i));
  GgufWriter writer;
  writer.set("tokenizer.ggml.tokens", words);
  writer.set("tokenizer.ggml.scores", std::vector<float>(words.size(), -1.0f));
  ASSERT_TRUE(writer.write(folder / "vocabulary.gguf"));
  std::optional<ModelFile> model;
  EXPECT_EQ(cheap_error([&]() -> std::optional<Error> {
              auto opened = ModelFile::open(folder / "vocabulary.gguf");
              if (!opened) return opened.error();
              model = *std::move(opened);
              return std::nullopt;
            }),
            "");
  ASSERT_TRUE(model);
  const auto read = model->metadata().strings("tokenizer.ggml.tokens");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->size(), words.size());
  EXPECT_EQ(read->back(), "token262143");
}

TEST_F(ModelFileTest, AHeaderCutFromAFileServesForPlanning) {
  const std::string path = write_model(64);
  fs::resize_file(path, 200);
  expect_words(ModelFile::open(path).error().what, {"'w'", "cut short"});
  const auto model = ModelFile::open_header(path);
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(model->tensor("w")->bytes, 64 * 4096);
  EXPECT_EQ(model->tensor("w")->data, nullptr);
}

}  // namespace
}  // namespace shardwise
