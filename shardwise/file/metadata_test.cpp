// Typed lookups: every GGUF value type, the conversions that are allowed, and the sentences for those that are not.
#include "shardwise/file/metadata.h"

#include <gtest/gtest.h>

#include <limits>

#include "shardwise/file/hostile_test.h"
#include "shardwise/file/model_file.h"
#include "shardwise/file/writer.h"

namespace shardwise {
namespace {

class MetadataTest : public testing::Test {
 protected:
  // The metadata of a file with what `writer` was given.
  const Metadata& reopened() {
    const std::string path = folder_ / "m.gguf";
    const Status written = writer.write(path);
    EXPECT_TRUE(written);
    auto opened = ModelFile::open(path);
    EXPECT_TRUE(opened) << opened.error().what;
    file_ = std::make_unique<ModelFile>(*std::move(opened));
    return file_->metadata();
  }

  GgufWriter writer;

 private:
  Folder folder_;
  std::unique_ptr<ModelFile> file_;
};

TEST_F(MetadataTest, EveryScalarTypeIsRead) {
  writer.set("u8", uint8_t{200});
  writer.set("i8", int8_t{-100});
  writer.set("u16", uint16_t{60000});
  writer.set("i16", int16_t{-30000});
  writer.set("u32", uint32_t{4000000000});
  writer.set("i32", int32_t{-2000000000});
  writer.set("u64", uint64_t{1} << 62);
  writer.set("i64", -(int64_t{1} << 62));
  writer.set("f32", 0.5f);
  writer.set("f64", 0.1);
  writer.set("yes", true);
  writer.set("no", false);
  writer.set("text", "llama");
  const Metadata& m = reopened();
  EXPECT_EQ(m.integer("u8"), 200);
  EXPECT_EQ(m.integer("i8"), -100);
  EXPECT_EQ(m.integer("u16"), 60000);
  EXPECT_EQ(m.integer("i16"), -30000);
  EXPECT_EQ(m.integer("u32"), 4000000000);
  EXPECT_EQ(m.integer("i32"), -2000000000);
  EXPECT_EQ(m.integer("u64"), int64_t{1} << 62);
  EXPECT_EQ(m.integer("i64"), -(int64_t{1} << 62));
  EXPECT_EQ(m.number("f32"), 0.5);
  EXPECT_EQ(m.number("f64"), 0.1);
  EXPECT_EQ(m.flag("yes"), true);
  EXPECT_EQ(m.flag("no"), false);
  EXPECT_EQ(m.text("text"), "llama");
}

TEST_F(MetadataTest, ArraysAreRead) {
  writer.set("words", std::vector<std::string>{"a", "", "\xe6\xbc\xa2 word"});
  writer.set("i32", std::vector<int32_t>{-1, 2, 3});
  writer.set("u8", std::vector<uint8_t>{255, 0});
  writer.set("f32", std::vector<float>{0.5f, -2.0f});
  writer.set("flags", std::vector<bool>{true, false, true});
  writer.set("none", std::vector<int64_t>{});
  const Metadata& m = reopened();
  EXPECT_EQ(m.strings("words"), (std::vector<std::string_view>{"a", "", "\xe6\xbc\xa2 word"}));
  EXPECT_EQ(m.integers("i32"), (std::vector<int64_t>{-1, 2, 3}));
  EXPECT_EQ(m.integers("u8"), (std::vector<int64_t>{255, 0}));
  EXPECT_EQ(m.numbers("f32"), (std::vector<double>{0.5, -2}));
  EXPECT_EQ(m.numbers("i32"), (std::vector<double>{-1, 2, 3}));
  EXPECT_EQ(m.flags("flags"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(m.integers("none"), std::vector<int64_t>{});
}

TEST_F(MetadataTest, ASingleValueServesAsAListOfOne) {
  writer.set("heads", uint32_t{9});
  writer.set("base", 1e4f);
  writer.set("tag", "x");
  const Metadata& m = reopened();
  EXPECT_EQ(m.integers("heads"), std::vector<int64_t>{9});
  EXPECT_EQ(m.numbers("heads"), std::vector<double>{9});
  EXPECT_EQ(m.numbers("base"), std::vector<double>{1e4});
  EXPECT_EQ(m.strings("tag"), std::vector<std::string_view>{"x"});
}

TEST_F(MetadataTest, NothingIsGuessed) {
  writer.set("f", 1.0f);
  writer.set("big", std::numeric_limits<uint64_t>::max());
  writer.set("bigs", std::vector<uint64_t>{1, std::numeric_limits<uint64_t>::max()});
  writer.set("flag", true);
  writer.set("fs", std::vector<float>{1});
  writer.set("flags", std::vector<bool>{true});
  writer.set("texts", std::vector<std::string>{"1"});
  const Metadata& m = reopened();
  EXPECT_EQ(m.integer("f"), std::nullopt);
  EXPECT_EQ(m.integer("big"), std::nullopt);
  EXPECT_EQ(m.integers("bigs"), std::nullopt);
  EXPECT_EQ(m.integer("flag"), std::nullopt);
  EXPECT_EQ(m.flag("f"), std::nullopt);
  EXPECT_EQ(m.integers("fs"), std::nullopt);
  EXPECT_EQ(m.integers("flags"), std::nullopt);
  EXPECT_EQ(m.numbers("flags"), std::nullopt);
  EXPECT_EQ(m.numbers("texts"), std::nullopt);
  EXPECT_EQ(m.integers("texts"), std::nullopt);
  EXPECT_EQ(m.strings("fs"), std::nullopt);
  EXPECT_EQ(m.text("texts"), std::nullopt);
  EXPECT_EQ(m.integer("absent"), std::nullopt);
  EXPECT_EQ(m.find("absent"), nullptr);
}

TEST_F(MetadataTest, RequiringNamesFileKeyAndWhatWasFound) {
  writer.set("general.architecture", "llama");
  writer.set("llama.block_count", uint32_t{30});
  const Metadata& m = reopened();
  EXPECT_EQ(*m.require_integer("llama.block_count"), 30);
  EXPECT_EQ(*m.require_number("llama.block_count"), 30.0);
  EXPECT_EQ(*m.require_text("general.architecture"), "llama");
  expect_words(m.require_integer("general.architecture").error().what,
               {"m.gguf", "'general.architecture'", "\"llama\"", "an integer"});
  expect_words(m.require_integers("llama.x").error().what, {"m.gguf", "'llama.x'", "missing"});
  expect_words(m.require_flag("llama.block_count").error().what, {"30", "a bool"});
  expect_words(m.require_strings("llama.block_count").error().what, {"30", "texts"});
  expect_words(m.require_numbers("general.architecture").error().what, {"numbers"});
}

TEST_F(MetadataTest, EntriesKeepTheFilesOrder) {
  writer.set("z", 1);
  writer.set("a", std::vector<std::string>{"x", "y"});
  writer.set("m", "line\none");
  std::string listed;
  for (const auto& [key, value] : reopened().entries()) listed += std::string(key) + "=" + describe(value) + ";";
  EXPECT_EQ(listed, "z=1;a=[2 x text];m=\"line\\none\";");
}

TEST(MetadataNames, CannotBreakALineOrFloodAMessage) {
  EXPECT_EQ(in_quotes("a\nb\x1b"), "'a\\x0ab\\x1b'");
  EXPECT_LT(in_quotes(std::string(100000, 'x')).size(), 100u);
  EXPECT_LT(describe(MetaValue(std::string_view("yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy")), 8).size(), 16u);
}

}  // namespace
}  // namespace shardwise
