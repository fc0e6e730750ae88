// The GGUF reader: what is written comes back, and what is hostile or incomplete is refused in a sentence.
#include "shardwise/file/gguf.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <limits>

#include "shardwise/file/hostile_test.h"
#include "shardwise/file/writer.h"

namespace shardwise {
namespace {

constexpr uint32_t kF32 = 0;

std::string refusal(std::string_view bytes) {
  const auto memory = exact(bytes);
  return cheap_error([&] { return error_of(parse_gguf("bad.gguf", memory)); });
}

// One tensor with `dims` as stored (innermost first), and 64 zeros of data.
std::string one_tensor(std::vector<uint64_t> dims, uint32_t type, uint64_t offset = 0) {
  Bytes bytes = gguf_start(1, 0);
  return add_tensor(bytes, "w", std::move(dims), type, offset).pad(32).zeros(64).str();
}

// A file with some of everything, as a string.
std::string sample() {
  const Folder folder;
  GgufWriter writer;
  writer.set("general.architecture", "llama");
  writer.set("words", std::vector<std::string>{"a", "bc"});
  writer.set("scores", std::vector<float>{1, 2, 3});
  writer.set("flags", std::vector<bool>{true, false});
  writer.tensor("a", {{2, 3}}, {{1, 2, 3, 4, 5, 6}});
  writer.tensor("b", DType::Q8_0, {{1, 32}}, exact(std::string(34, 'q')));
  EXPECT_TRUE(writer.write(folder / "s.gguf"));
  return read_file(folder / "s.gguf");
}

TEST(Gguf, WhatIsWrittenComesBack) {
  const auto memory = exact(sample());
  const auto header = parse_gguf("s.gguf", memory);
  ASSERT_TRUE(header) << header.error().what;
  ASSERT_EQ(header->tensors.size(), 2u);
  const TensorInfo& a = header->tensors[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, DType::F32);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a.bytes, 24);
  float values[6];
  std::memcpy(values, a.data, sizeof values);
  EXPECT_EQ(values[5], 6.0f);
  const TensorInfo& b = header->tensors[1];
  EXPECT_EQ(b.dtype, DType::Q8_0);
  EXPECT_EQ(b.bytes, 34);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(b.data), 34), std::string(34, 'q'));
  EXPECT_EQ(header->metadata.strings("words"), (std::vector<std::string_view>{"a", "bc"}));
}

TEST(Gguf, ShapesTurnRowMajorForUpToFourDims) {
  const auto memory = exact(one_tensor({2, 1, 4, 2}, kF32));
  const auto header = parse_gguf("s.gguf", memory);
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(header->tensors[0].shape, (std::vector<int64_t>{2, 4, 1, 2}));
  EXPECT_EQ(columns(header->tensors[0]), 2);
  EXPECT_EQ(rows(header->tensors[0]), 8);
}

TEST(Gguf, TypeNumbersAndNamesAgreeWithDTypes) {
  int supported = 0;
  for (uint32_t id = 0; id < 100; ++id) {
    const GgmlType type = ggml_type(id);
    if (!type.dtype) continue;
    ++supported;
    EXPECT_EQ(ggml_type_id(*type.dtype), id);
    EXPECT_EQ(info(*type.dtype).name, type.name);
  }
  EXPECT_EQ(supported, 13);
  EXPECT_EQ(ggml_type(12).name, "Q4_K");
  EXPECT_EQ(ggml_type(30).name, "BF16");
  EXPECT_EQ(ggml_type(39).name, "MXFP4");
}

TEST(Gguf, VersionTwoIsRead) {
  std::string bytes = sample();
  bytes[4] = 2;
  EXPECT_TRUE(parse_gguf("v2.gguf", exact(bytes)));
}

TEST(Gguf, OtherVersionsAndByteOrdersAreRefused) {
  expect_words(refusal(gguf_start(0, 0, 1).str()), {"bad.gguf", "version 1"});
  expect_words(refusal(gguf_start(0, 0, 4).str()), {"version 4"});
  expect_words(refusal(gguf_start(0, 0, 0).str()), {"version 0"});
  expect_words(refusal(gguf_start(0, 0, 0x03000000).str()), {"big-endian"});
  expect_words(refusal(Bytes().raw("FUGG").u32(3).u64(0).u64(0).str()), {"big-endian"});
  expect_words(refusal(Bytes().raw("GGML").u32(3).u64(0).u64(0).str()), {"'GGML'", "not a GGUF file"});
  expect_words(refusal("GG"), {"magic"});
  expect_words(refusal(""), {"magic"});
}

TEST(Gguf, AlignmentIsRespected) {
  Bytes bytes = gguf_start(1, 1);
  bytes.text("general.alignment").u32(uint32_t(MetaType::U32)).u32(128);
  add_tensor(bytes, "w", {1}, kF32, 128).pad(128).zeros(128).raw("\x01\x02\x03\x04");
  const auto memory = exact(bytes.str());
  const auto header = parse_gguf("a.gguf", memory);
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(header->tensors[0].data, memory.data() + 256);
  for (const uint32_t wrong : {0u, 1u, 4u, 24u, 33u, 1u << 31}) {
    Bytes bad = gguf_start(0, 1);
    bad.text("general.alignment").u32(uint32_t(MetaType::U32)).u32(wrong);
    expect_words(refusal(bad.str()), {"general.alignment", std::to_string(wrong)});
  }
}

TEST(Gguf, B37_ImpossibleShapesAreRefused) {
  expect_words(refusal(one_tensor({1, 0}, kF32)), {"bad.gguf", "tensor 'w'", "size 0"});
  expect_words(refusal(one_tensor({4096, (uint64_t{1} << 42) + 1}, kF32)), {"'w'", "4398046511105"});
  expect_words(refusal(one_tensor({uint64_t{1} << 40, uint64_t{1} << 40}, kF32)), {"'w'", "more than a file"});
  expect_words(refusal(one_tensor({uint64_t{1} << 32, uint64_t{1} << 28}, kF32)), {"'w'", "cut short"});
  expect_words(refusal(one_tensor({uint64_t{1} << 32, uint64_t{1} << 30, 2}, kF32)), {"'w'", "more than a file"});
  expect_words(refusal(one_tensor({std::numeric_limits<uint64_t>::max()}, kF32)), {"'w'"});
  expect_words(refusal(one_tensor({1, 1, 1, 1, 1}, kF32)), {"'w'", "5 dims"});
  expect_words(refusal(one_tensor({}, kF32)), {"'w'", "0 dims"});
  Bytes many = gguf_start(1, 0);
  many.text("w").u32(0xffffffff).u64(1).u64(1).u64(1);
  expect_words(refusal(many.str()), {"'w'", "4294967295 dims"});
  expect_words(refusal(one_tensor({33}, 8)), {"'w'", "33", "Q8_0", "32"});
  expect_words(refusal(one_tensor({32}, 12)), {"'w'", "Q4_K", "256"});
}

TEST(Gguf, B37_CountsBeyondTheFileAreRefused) {
  const uint64_t huge = uint64_t{1} << 60;
  expect_words(refusal(gguf_start(huge, 0).zeros(64).str()), {"bad.gguf", "1152921504606846976 tensors"});
  expect_words(refusal(gguf_start(0, huge).zeros(64).str()), {"1152921504606846976 metadata pairs"});
  expect_words(refusal(gguf_start(0, std::numeric_limits<uint64_t>::max()).str()), {"metadata pairs"});
  expect_words(refusal(gguf_start(2, 0).zeros(33).str()), {"2 tensors"});
  expect_words(refusal(Bytes().raw("GGUF").u32(3).u64(0).str()), {"counts"});
}

TEST(Gguf, B37_HostileKeysAndValuesAreRefused) {
  const auto u32 = uint32_t(MetaType::U32), list = uint32_t(MetaType::Array), text = uint32_t(MetaType::Text);
  const auto pair = [](auto fill, uint64_t pairs = 1) {
    Bytes bytes = gguf_start(0, pairs);
    fill(bytes);
    return refusal(bytes.zeros(16).str());
  };
  expect_words(pair([&](Bytes& b) { b.text("").u32(u32).u32(1); }), {"pair 0", "0 bytes"});
  expect_words(pair([&](Bytes& b) { b.u64(uint64_t{1} << 63).raw("key"); }), {"pair 0"});
  expect_words(pair([&](Bytes& b) { b.text("k").u32(77).u32(1); }), {"'k'", "type 77"});
  expect_words(pair([&](Bytes& b) { b.text("k").u32(text).u64(std::numeric_limits<uint64_t>::max()); }), {"'k'"});
  expect_words(pair([&](Bytes& b) { b.text("k").u32(uint32_t(MetaType::Bool)).u8(2); }), {"'k'", "bool"});
  expect_words(pair([&](Bytes& b) { b.text("k").u32(list).u32(text).u64(uint64_t{1} << 61); }), {"'k'", "elements"});
  expect_words(pair([&](Bytes& b) { b.text("k").u32(list).u32(10).u64(uint64_t{1} << 61); }), {"'k'", "elements"});
  expect_words(pair([&](Bytes& b) { b.text("k").u32(list).u32(99).u64(1); }), {"'k'", "type 99"});
  expect_words(pair([&](Bytes& b) { b.text("k").u32(list).u32(7).u64(2).u8(1).u8(9); }), {"'k'", "bool"});
  expect_words(pair([&](Bytes& b) { b.text("k").u32(u32).u32(1).text("k").u32(u32).u32(1); }, 2), {"'k'", "twice"});
}

TEST(Gguf, B37_NestedArraysHaveALimit) {
  const auto nested = [](int depth) {
    Bytes bytes = gguf_start(0, 1);
    bytes.text("deep").u32(uint32_t(MetaType::Array));
    for (int i = 1; i < depth; ++i) bytes.u32(uint32_t(MetaType::Array)).u64(1);
    return bytes.u32(uint32_t(MetaType::U8)).u64(1).u8(7).str();
  };
  const auto two_deep = exact(nested(2));
  const auto header = parse_gguf("n.gguf", two_deep);
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(describe(*header->metadata.find("deep")), "[1 x array]");
  EXPECT_EQ(header->metadata.integers("deep"), std::nullopt);
  expect_words(refusal(nested(100000)), {"'deep'", "4 deep"});
}

TEST(Gguf, B37_TypesThatCannotBeComputedWithAreRefusedByName) {
  expect_words(refusal(one_tensor({32}, 9999)), {"bad.gguf", "'w'", "9999"});
  expect_words(refusal(one_tensor({32}, 16)), {"'w'", "IQ2_XXS"});
  expect_words(refusal(one_tensor({32}, 39)), {"'w'", "MXFP4"});
  expect_words(refusal(one_tensor({32}, 26)), {"'w'", "I32"});
  expect_words(refusal(one_tensor({32}, 9)), {"'w'", "Q8_1"});
}

TEST(Gguf, B37_OffsetsAndNamesOfTensorsDoNotCollide) {
  expect_words(refusal(one_tensor({4}, kF32, uint64_t{1} << 63)), {"bad.gguf", "'w'", "9223372036854775808"});
  expect_words(refusal(one_tensor({4}, kF32, uint64_t(0) - 32)), {"'w'", "18446744073709551584"});
  expect_words(refusal(one_tensor({4}, kF32, 4)), {"'w'", "offset 4", "alignment 32"});
  const auto two = [](std::string_view first, std::string_view second, uint64_t offset) {
    Bytes bytes = gguf_start(2, 0);
    add_tensor(bytes, first, {16}, kF32, 0);
    return refusal(add_tensor(bytes, second, {16}, kF32, offset).pad(32).zeros(128).str());
  };
  EXPECT_EQ(two("a", "b", 64), "");
  expect_words(two("a", "a", 64), {"'a'", "two tensors"});
  expect_words(two("a", "b", 0), {"overlaps", "'a'", "'b'"});
  expect_words(two("a", "b", 32), {"'b'", "32", "overlaps 'a'", "64"});
  expect_words(two("a", "", 64), {"tensor 1", "0 bytes"});
}

TEST(Gguf, B38_EveryCutIsRefused) {
  const std::string whole = sample();
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string error = refusal(std::string_view(whole).substr(0, length));
    // Only the padding after the last tensor may be missing, and only as a whole: some writers leave it away.
    if (length == whole.size() - 30) {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_NE(error, "") << "cut to " << length << " of " << whole.size();
    }
  }
}

TEST(Gguf, B38_ACutTensorIsNamedWithItsBytes) {
  const std::string whole = one_tensor({16}, kF32);
  expect_words(refusal(std::string_view(whole).substr(0, whole.size() - 1)), {"bad.gguf", "'w'", "64", "63"});
  expect_words(refusal(std::string_view(whole).substr(0, whole.size() - 32)), {"'w'", "64", "32"});
  expect_words(refusal(std::string_view(whole).substr(0, whole.size() - 64)), {"'w'", "64", "only 0"});
}

TEST(Gguf, HeaderAloneServesForPlanning) {
  const std::string whole = one_tensor({16}, kF32);
  const auto memory = exact(std::string_view(whole).substr(0, whole.size() - 64));
  const auto header = parse_gguf("h.gguf", memory, FileScope::HeaderOnly);
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(header->tensors[0].bytes, 64);
  EXPECT_EQ(header->tensors[0].data, nullptr);
}

RC_GTEST_PROP(Gguf, DamagedBytesNeverHarm, ()) {
  static const std::string whole = sample();
  std::string bytes = whole;
  const auto hits = *rc::gen::inRange(1, 6);
  for (int i = 0; i < hits; ++i) bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  const auto memory = exact(bytes);
  const auto header = parse_gguf("damaged.gguf", memory);
  if (!header) return;
  for (const TensorInfo& tensor : header->tensors) {
    RC_ASSERT(tensor.data >= memory.data());
    RC_ASSERT(tensor.data + tensor.bytes <= memory.data() + memory.size());
  }
  for (const auto& [key, value] : header->metadata.entries()) {
    RC_ASSERT(describe(value).size() < 200u);
    (void)header->metadata.strings(key);
    (void)header->metadata.numbers(key);
    (void)header->metadata.integers(key);
    (void)header->metadata.flags(key);
  }
}

}  // namespace
}  // namespace shardwise
