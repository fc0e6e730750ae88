// The safetensors reader: what is written comes back, and what is hostile or incomplete is refused in a sentence.
#include "shardwise/file/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "shardwise/file/hostile_test.h"
#include "shardwise/file/writer.h"

namespace shardwise {
namespace {

std::string refusal(std::string_view bytes) {
  const auto memory = exact(bytes);
  return cheap_error([&] { return error_of(parse_safetensors("bad.safetensors", memory)); });
}

std::string file_with(std::string_view header, size_t data_bytes) {
  return Bytes().text(header).zeros(data_bytes).str();
}

std::string sample() {
  const Folder folder;
  const std::vector<SafetensorsTensor> tensors = {
      f32_tensor("a", {2, 2}, std::array{1.0f, 2.0f, 3.0f, 4.0f}),
      {"ids", "I64", {1, 3}, exact(std::string(24, 'i'))},
      {"half", "BF16", {3}, exact(std::string(6, 'h'))},
      {"none", "F32", {0, 4}, {}},
      {"scale", "F32", {}, exact(std::string(4, 's'))},
  };
  EXPECT_TRUE(write_safetensors(folder / "s.safetensors", tensors));
  return read_file(folder / "s.safetensors");
}

TEST(Safetensors, WhatIsWrittenComesBack) {
  const auto memory = exact(sample());
  const auto header = parse_safetensors("s.safetensors", memory);
  ASSERT_TRUE(header) << header.error().what;
  ASSERT_EQ(header->tensors.size(), 3u);
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->tensors[0].shape, (std::vector<int64_t>{2, 2}));
  float values[4];
  std::memcpy(values, header->tensors[0].data, sizeof values);
  EXPECT_EQ(values[3], 4.0f);
  EXPECT_EQ(header->tensors[1].dtype, DType::BF16);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(header->tensors[1].data), 6), "hhhhhh");
  EXPECT_TRUE(header->tensors[2].shape.empty());
  EXPECT_EQ(rows(header->tensors[2]), 1);
  ASSERT_EQ(header->opaque.size(), 2u);
  EXPECT_EQ(header->opaque[0].name, "ids");
  EXPECT_EQ(header->opaque[0].why, "has type I64");
  EXPECT_EQ(header->opaque[1].why, "has no elements");
}

TEST(Safetensors, MetadataIsKept) {
  const auto memory = exact(file_with(R"({"__metadata__":{"format":"pt","by":"x"}})", 0));
  const auto header = parse_safetensors("m.safetensors", memory);
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(header->metadata.text("format"), "pt");
  EXPECT_EQ(header->metadata.text("by"), "x");
}

TEST(Safetensors, B37_HeaderLengthsAreRefused) {
  const auto with_length = [](uint64_t length) { return refusal(Bytes().u64(length).raw("{}      ").str()); };
  EXPECT_EQ(with_length(8), "");
  expect_words(with_length(std::numeric_limits<uint64_t>::max()), {"bad.safetensors", "18446744073709551615"});
  expect_words(with_length(std::numeric_limits<uint64_t>::max() - 3), {"18446744073709551612"});
  expect_words(with_length(1000000000000), {"1000000000000"});
  expect_words(with_length(9), {"9 bytes", "8 follow"});
  expect_words(with_length(0), {"not a JSON object"});
  expect_words(refusal("1234567"), {"7 bytes"});
}

TEST(Safetensors, B37_DataOffsetsAreRefused) {
  const auto one = [](std::string_view shape, std::string_view offsets, size_t data_bytes) {
    return refusal(file_with(fmt::format(R"({{"w":{{"dtype":"F32","shape":{},"data_offsets":{}}}}})", shape, offsets),
                             data_bytes));
  };
  EXPECT_EQ(one("[1]", "[0,4]", 4), "");
  expect_words(one("[1]", "[100,4]", 200), {"bad.safetensors", "'w'", "[100, 4]", "backwards"});
  expect_words(one("[1000,1000]", "[0,4]", 4), {"'w'", "[1000, 1000]", "4 bytes"});
  expect_words(one("[1]", "[0]", 4), {"'w'", "data_offsets"});
  expect_words(one("[1]", "[0,4,8]", 4), {"'w'", "data_offsets"});
  expect_words(one("[1]", "[]", 4), {"'w'", "data_offsets"});
  expect_words(one("[1]", "[4,8]", 8), {"'w'", "gap"});
  expect_words(one("[1]", "[0,4]", 3), {"'w'", "only 3 bytes"});
  expect_words(one("[1]", "[0,4]", 5), {"4 bytes", "5 are there"});
  expect_words(one("[1]", "[-4,0]", 4), {"'w'", "data_offsets", "-4"});
  expect_words(one("[1]", "[0,4.0]", 4), {"'w'", "fraction"});
  expect_words(one("[1]", "[0,99999999999999999999]", 4), {"bad.safetensors"});
  expect_words(one("[4611686018427387904,4]", "[0,4]", 4), {"'w'"});
  expect_words(one("[1099511627776,1099511627776,1099511627776]", "[0,4]", 4), {"'w'"});
  expect_words(one("[1,1,1,1,1,1,1,1,1]", "[0,4]", 4), {"'w'", "'shape'", "8 numbers"});
  expect_words(one("[1]", "[18446744073709551611,18446744073709551615]", 4), {"'w'"});
}

TEST(Safetensors, B37_OverlapsGapsAndRepeatedNamesAreRefused) {
  const auto two = [](std::string_view first, std::string_view second, std::string_view b, size_t data_bytes) {
    return refusal(file_with(fmt::format(R"({{"{}":{{"dtype":"F32","shape":[4],"data_offsets":[0,16]}},)"
                                         R"("{}":{{"dtype":"F32","shape":[4],"data_offsets":{}}}}})",
                                         first, second, b),
                             data_bytes));
  };
  EXPECT_EQ(two("a", "b", "[16,32]", 32), "");
  expect_words(two("a", "b", "[0,16]", 16), {"bad.safetensors", "overlap"});
  expect_words(two("a", "b", "[8,24]", 24), {"'b'", "8", "16", "overlap"});
  expect_words(two("a", "b", "[20,36]", 36), {"'b'", "20", "16", "gap"});
  expect_words(two("a", "a", "[16,32]", 32), {"'a'", "twice"});
  expect_words(two("a", "", "[16,32]", 32), {"empty tensor name"});
}

TEST(Safetensors, B37_HeadersThatAreNotTheFormatAreRefused) {
  const auto with = [](std::string_view header) { return refusal(file_with(header, 0)); };
  expect_words(with("[]"), {"bad.safetensors", "not a JSON object"});
  expect_words(with("7"), {"not a JSON object"});
  expect_words(with("{"), {"not valid JSON"});
  expect_words(with("{} x"), {"not valid JSON"});
  expect_words(with("{\"\xff\xfe\":1}"), {"not valid JSON"});
  expect_words(with(R"({"w":3})"), {"'w'", "found 3"});
  expect_words(with(R"({"w":null})"), {"'w'", "null"});
  expect_words(with(R"({"w":[]})"), {"'w'", "list"});
  expect_words(with(R"({"w":{}})"), {"'w'", "lacks"});
  expect_words(with(R"({"w":{"dtype":"F32","shape":[0]}})"), {"'w'", "lacks"});
  expect_words(with(R"({"w":{"dtype":"F32","dtype":"F16"}})"), {"'w'", "'dtype'", "twice"});
  expect_words(with(R"({"w":{"shape":[],"shape":[]}})"), {"'w'", "'shape'", "twice"});
  expect_words(with(R"({"w":{"dtype":{}}})"), {"'w'", "'dtype'", "object"});
  expect_words(with(R"({"w":{"shape":[[1]]}})"), {"'w'", "'shape'", "list"});
  expect_words(with(R"({"w":{"color":"red"}})"), {"'w'", "'color'"});
  expect_words(with(R"({"__metadata__":{"a":1}})"), {"'__metadata__'", "'a'"});
  expect_words(with(R"({"__metadata__":{"a":"1","a":"2"}})"), {"'__metadata__'", "'a'", "twice"});
  expect_words(with(R"({"__metadata__":"x"})"), {"'__metadata__'"});
}

TEST(Safetensors, B37_UnknownTypesAreRefusedWhateverTheirOffsets) {
  expect_words(refusal(file_with(R"({"w":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", 4)), {"'w'", "'F99'"});
  expect_words(refusal(file_with(R"({"w":{"dtype":"F99","shape":[1],"data_offsets":[0,400]}})", 4)), {"'w'", "400"});
}

TEST(Safetensors, B37_DeepNestingIsRefused) {
  const std::string deep(100000, '[');
  expect_words(refusal(file_with(R"({"w":)" + deep, 0)), {"bad.safetensors", "'w'", "list"});
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += R"({"a":)";
  expect_words(refusal(file_with(objects, 0)), {"'a'", "object"});
  expect_words(refusal(file_with(R"({"w":{"shape":)" + deep + std::string(100000, ']') + "}}", 0)), {"'w'", "list"});
}

TEST(Safetensors, B38_EveryCutIsRefused) {
  const std::string whole = sample();
  EXPECT_EQ(refusal(whole), "");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refusal(std::string_view(whole).substr(0, length)), "") << "cut to " << length;
}

TEST(Safetensors, HeaderAloneServesForPlanning) {
  const std::string whole = file_with(R"({"w":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})", 0);
  const auto memory = exact(whole);
  EXPECT_NE(refusal(whole), "");
  const auto header = parse_safetensors("h.safetensors", memory, FileScope::HeaderOnly);
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(header->tensors[0].bytes, 12);
  EXPECT_EQ(header->tensors[0].data, nullptr);
}

RC_GTEST_PROP(Safetensors, DamagedBytesNeverHarm, ()) {
  static const std::string whole = sample();
  std::string bytes = whole;
  const auto hits = *rc::gen::inRange(1, 4);
  for (int i = 0; i < hits; ++i) bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  const auto memory = exact(bytes);
  const auto header = parse_safetensors("damaged.safetensors", memory);
  if (!header) return;
  for (const TensorInfo& tensor : header->tensors) {
    RC_ASSERT(tensor.data >= memory.data());
    RC_ASSERT(tensor.data + tensor.bytes <= memory.data() + memory.size());
    RC_ASSERT(tensor.bytes == storage_bytes(tensor.dtype, rows(tensor) * columns(tensor)));
  }
}

}  // namespace
}  // namespace shardwise
