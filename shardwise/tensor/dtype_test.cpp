// The table of types, half precision over all its values, and the quantised formats against golden values that another
// implementation of the formats (the gguf Python package) gave for the same bytes.
#include "shardwise/tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "shardwise/tensor/block.h"

namespace shardwise {
namespace {

struct Golden {
  const char* type;
  const char* bytes;      // hexadecimal, one block
  std::vector<float> at;  // every 8th value of a 32-wide block, every 37th of a 256-wide one
  double sum;             // of all values
};

std::vector<Golden> goldens() {
  return {
      {"Q4_0",
       "bc28402210fae920677a0dcc8aacd07f7c64",
       {-0.2958984375f, 0.1849365234375f, -0.14794921875f, -0.2958984375f},
       -0.961669921875},
      {"Q4_1",
       "bc28b8b2d3eb50b6b02958078df1497cdf7bde25",
       {-0.0989990234375f, 0.2708740234375f, 0.2708740234375f, 0.0859375f},
       2.676025390625},
      {"Q5_0",
       "bc28c866d33c9fed358a398c371507127643f18a94dd",
       {-0.0369873046875f, -0.3328857421875f, 0.3328857421875f, -0.591796875f},
       -1.03564453125},
      {"Q5_1",
       "bc28b8b24ca7c5f2b1f3bcfa5cc3339f90244bde5655765e",
       {-0.1729736328125f, 0.3818359375f, 0.7886962890625f, 0.1229248046875f},
       12.588623046875},
      {"Q8_0",
       "bc284f25db74ea82d58a98716313b0a9132f9afe77a37a46ff5910db28e051237eec",
       {2.9219970703125f, -3.8466796875f, -3.772705078125f, 0.591796875f},
       11.9468994140625},
      {"Q2_K",
       "7ef6bcc9d764643f51c09cabc2a78075bf7c2b8302b7f7f099a315d19eded3d66232908c37e375fb00281dfbdf35972268bb5a34"
       "2a1af14ee745c18d1ba3e8d200d4ce7bdb05d8fb8c38705a427fa6edbc28b8b2",
       {3.023193359375f, 2.75341796875f, 2.9884033203125f, 1.70361328125f, 2.51953125f, 2.913330078125f,
        2.617431640625f},
       589.890625},
      {"Q3_K",
       "0aef84b896b33c3cf5638e97b3275dcd883ffee2579209de5118a3f7d064f620514a5ac7131c92773db789afb9f7f2464307bb03"
       "d3274715d90601f92e9b5ce58e7aad4d131e116e91f5ac3dd718cf256d6c85dbb67961ac966a9f13fa6dc43331215090ea2fc4e6"
       "41c1f7febc28",
       {1.6644287109375f, 1.775390625f, -0.0f, -0.44384765625f, -2.21923828125f, -1.849365234375f, 0.0f},
       -12.57568359375},
      {"Q4_K",
       "bc28b8b22c95770805fcaf2c1c986533717a2771c2ee8258995d1cba8a5d0a78ee99c956876bf8e7732717a09d4186b2e233f4be"
       "04b8dd562cf02ce4ae105204b18c8a4ea334ea281ae30601ea6b16ffc288fe164bf2af758370d4d1f0fde7b071124bdbdfb9fe0d"
       "77c0487fe284b70855e0043107418cd8b1d7bb124d6e7f965eb428050b9a074f43c6c9ee69983f51",
       {2.67724609375f, 23.471923828125f, 34.27978515625f, 9.23828125f, 6.86767578125f, 29.7216796875f,
        19.6295166015625f},
       3568.046630859375},
      {"Q5_K",
       "bc28b8b2b140d816298a52c63113342c5905b97f6f464b06407aa505d5e2d0d60e5b010276a55f7738675e6dcc5e902004bc1aa5"
       "7b483fbdac2829fcc94d1632a10f59ec2801da0f1a042a24a339309910d506de486150e5d8de6ebd6ec3e5064c97d46a69641dce"
       "c6ce2a8772fbae301ff04dae3763c817543f83b2f3289904aac83d5cfb69004b81e49af0c8fe23bab17ccba7c9f9407eb30f6549"
       "faf658da4eba42f2f4289b372702963e07d1af50",
       {44.85595703125f, 2.099609375f, 30.41015625f, 1.259765625f, 33.5855712890625f, 28.011474609375f,
        32.83935546875f},
       5201.3408203125},
      {"Q6_K",
       "722f1f7ad4841542518177677ef171fadf522c5ed4c4e5f09d59c5808f353757496496ef66cb9d6fe8081fc64d407750907fc5ff"
       "59351bbf2d55a0e0764c3e0ae28d7d1b8cad43113a4e1388e0016f678680a3fad57bbe3eee7c412b16aa60d8b2a3554de311e7bd"
       "8577294a8927b98be1cccd14957556a9f7b274ea1a3439b197e001e17a35f3c7a2c5219169cf70ed7b2eac7a5a0b5526aaa3448e"
       "e6104aa067751a2df95fc4246427d9a984077171620a307bbcf549c9b81c73af23ea0ae5575fd42abcc65cc21cc5608a16831009"
       "bc28",
       {57.922119140625f, 8.13720703125f, -17.60595703125f, 71.45947265625f, 58.9207763671875f, -78.56103515625f,
        120.208740234375f},
       150.0205078125},
  };
}

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

TEST(DType, NamesAreFoundAndUnknownOnesAreNot) {
  for (const char* name :
       {"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"}) {
    ASSERT_TRUE(dtype_named(name)) << name;
    EXPECT_EQ(info(*dtype_named(name)).name, name);
  }
  EXPECT_FALSE(dtype_named("IQ2_XXS"));
  EXPECT_FALSE(dtype_named("q4_0"));
  EXPECT_FALSE(dtype_named(""));
}

TEST(DType, StorageIsThatOfTheFile) {
  EXPECT_EQ(storage_bytes(DType::Q4_K, 4096), 16 * 144);
  EXPECT_EQ(storage_bytes(DType::Q8_0, 64), 2 * 34);
  EXPECT_EQ(storage_bytes(DType::BF16, 3), 6);
}

TEST(DType, DequantizeAgreesWithGoldenValues) {
  for (const Golden& golden : goldens()) {
    const DType type = *dtype_named(golden.type);
    const std::vector<std::byte> bytes = from_hex(golden.bytes);
    ASSERT_EQ(static_cast<int64_t>(bytes.size()), info(type).bytes) << golden.type;
    std::vector<float> out(static_cast<size_t>(info(type).block));
    dequantize(type, bytes.data(), out);
    const size_t step = out.size() == 32 ? 8 : 37;
    for (size_t i = 0; i * step < out.size(); ++i)
      EXPECT_EQ(out[i * step], golden.at[i]) << golden.type << " " << i * step;
    double sum = 0;
    for (float v : out) sum += v;
    EXPECT_NEAR(sum, golden.sum, 1e-6 * std::abs(golden.sum)) << golden.type;
  }
}

TEST(DType, HalfPrecisionKeepsEveryValueThereAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = f16_to_f32(half);
    if ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
      continue;
    }
    const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
    const double magnitude = exponent == 31  ? INFINITY
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(value, static_cast<float>(bits & 0x8000 ? -magnitude : magnitude)) << bits;
    ASSERT_EQ(f32_to_f16(value), half) << bits;
  }
}

TEST(DType, HalfPrecisionRoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {  // midway between neighbours, and a hair to either side
    const float low = f16_to_f32(static_cast<uint16_t>(bits)), high = f16_to_f32(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(f32_to_f16(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), bits) << bits;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), bits + 1) << bits;
  }
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(f32_to_f16(1e-30f), 0);
}

TEST(DType, BrainFloatIsTheUpperHalf) {
  EXPECT_EQ(bf16_to_f32(0x3f80), 1.0f);
  EXPECT_EQ(bf16_to_f32(0xc049), -3.140625f);
}

}  // namespace
}  // namespace shardwise
