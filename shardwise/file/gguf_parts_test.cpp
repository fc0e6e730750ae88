// Split GGUF models: opened from the first part, and refused when parts are missing, swapped or do not add up.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "shardwise/file/hostile_test.h"
#include "shardwise/file/model_file.h"
#include "shardwise/file/writer.h"

namespace shardwise {
namespace {

namespace fs = std::filesystem;

class GgufParts : public testing::Test {
 protected:
  void SetUp() override {
    writer.set("general.architecture", "llama");
    for (int i = 0; i < 5; ++i) writer.tensor(fmt::format("t{}", i), {{1, 2}}, {{float(i), -float(i)}});
    auto written = writer.write_split(folder / "model", 3);
    ASSERT_TRUE(written);
    paths = *std::move(written);
  }

  std::string refusal(const std::string& path) {
    return cheap_error([&] { return error_of(ModelFile::open(path)); });
  }

  // Gives part `number` (from 1) another split.* triple and no tensors.
  void overwrite(int number, uint16_t no, uint16_t count, int32_t tensors) {
    GgufWriter part;
    part.set("split.no", no);
    part.set("split.count", count);
    part.set("split.tensors.count", tensors);
    ASSERT_TRUE(part.write(paths[size_t(number - 1)]));
  }

  Folder folder;
  GgufWriter writer;
  std::vector<std::string> paths;
};

TEST_F(GgufParts, AllPartsMakeOneModel) {
  EXPECT_TRUE(paths[0].ends_with("model-00001-of-00003.gguf"));
  const auto model = ModelFile::open(paths[0]);
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(model->paths(), paths);
  EXPECT_EQ(model->format(), ModelFile::Format::Gguf);
  ASSERT_EQ(model->tensors().size(), 5u);
  EXPECT_EQ(model->metadata().text("general.architecture"), "llama");
  for (int i = 0; i < 5; ++i) {
    const TensorInfo* tensor = model->tensor(fmt::format("t{}", i));
    ASSERT_NE(tensor, nullptr);
    float values[2];
    std::memcpy(values, model->row(*tensor, 0), sizeof values);
    EXPECT_EQ(values[1], -float(i));
  }
  int64_t bytes = 0;
  for (const std::string& path : paths) bytes += int64_t(fs::file_size(path));
  EXPECT_EQ(model->file_bytes(), bytes);
}

TEST_F(GgufParts, AnotherPartThanTheFirstSaysWhichToGive) {
  expect_words(refusal(paths[1]), {"part 2 of 3", "model-00001-of-00003.gguf"});
}

TEST_F(GgufParts, B38_AMissingPartIsNamed) {
  fs::remove(paths[1]);
  expect_words(refusal(paths[0]), {"model-00002-of-00003.gguf", "part 2 of 3", "missing"});
}

TEST_F(GgufParts, B38_APartCutShortIsNamed) {
  fs::resize_file(paths[2], fs::file_size(paths[2]) - 32);
  expect_words(refusal(paths[0]), {"model-00003-of-00003.gguf", "'t4'", "cut short"});
}

TEST_F(GgufParts, B38_PartsThatDoNotAddUpAreRefused) {
  overwrite(2, 1, 3, 5);
  expect_words(refusal(paths[0]), {"split.tensors.count is 5", "3 tensors"});
}

TEST_F(GgufParts, B37_SwappedOrForeignPartsAreRefused) {
  fs::copy_file(paths[2], paths[1], fs::copy_options::overwrite_existing);
  expect_words(refusal(paths[0]), {"model-00002-of-00003.gguf", "split.no is 2"});
  overwrite(2, 1, 4, 5);
  expect_words(refusal(paths[0]), {"model-00002-of-00003.gguf", "split.count is 4"});
  ASSERT_TRUE(GgufWriter().write(paths[1]));
  expect_words(refusal(paths[0]), {"model-00002-of-00003.gguf", "'split.no'", "missing"});
}

TEST_F(GgufParts, B37_ATensorInTwoPartsIsRefused) {
  GgufWriter part;
  part.set("split.no", uint16_t{1});
  part.set("split.count", uint16_t{3});
  part.tensor("t0", {{1}}, {{1}});
  ASSERT_TRUE(part.write(paths[1]));
  GgufWriter first;
  first.set("split.no", uint16_t{0});
  first.set("split.count", uint16_t{3});
  first.set("split.tensors.count", int32_t{4});
  first.tensor("t0", {{1}}, {{1}});
  ASSERT_TRUE(first.write(paths[0]));
  expect_words(refusal(paths[0]), {"two of the parts", "'t0'"});
}

TEST_F(GgufParts, NameAndCountMustAgree) {
  fs::rename(paths[0], folder / "renamed.gguf");
  expect_words(refusal(folder / "renamed.gguf"), {"one of 3 parts", "-00001-of-00003.gguf"});
  ASSERT_TRUE(writer.write(folder / "lone-00001-of-00002.gguf"));
  expect_words(refusal(folder / "lone-00001-of-00002.gguf"), {"part 1 of 2", "split.count is 1"});
  overwrite(1, 0, 0, 5);
  expect_words(refusal(paths[0]), {"split.count is 0"});
  writer.set("split.count", "three");
  ASSERT_TRUE(writer.write(paths[0]));
  expect_words(refusal(paths[0]), {"'split.count'", "\"three\"", "an integer"});
}

TEST_F(GgufParts, ASplitIntoOnePartIsAPlainModel) {
  const auto one = writer.write_split(folder / "one", 1);
  ASSERT_TRUE(one);
  const auto model = ModelFile::open(one->front());
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_EQ(model->tensors().size(), 5u);
}

}  // namespace
}  // namespace shardwise
