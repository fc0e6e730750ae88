// Packing keeps every bit; linear agrees with a double sum in every type, tile size and instruction set; and a token's
// result is the same bits whoever else is in the call and however the work is shared.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "shardwise/kernel/panel.h"
#include "shardwise/kernel/test_weights.h"

namespace shardwise::kernel {
namespace {

struct Product {
  std::vector<float> y;  // [tokens, rows]
  AlignedBytes x;        // as quantize left it; nothing for float types
};

// All workers in turn; `quantize` and `linear` alike.
Product multiply(const Weights& w, const std::vector<float>& x, int64_t tokens, int workers = 1, int64_t chunk = 0) {
  const int64_t rows = w.rows, cols = w.cols;
  Product out{std::vector<float>(static_cast<size_t>(tokens * rows), NAN), nullptr};
  if (is_quantised(w.packed.dtype)) {
    out.x = aligned_bytes(quantized_bytes(tokens, cols));
    for (int i = 0; i < workers; ++i) quantize(x.data(), cols, tokens, cols, out.x.get(), {i, workers});
  }
  for (int i = 0; i < workers; ++i) {
    if (out.x)
      linear_quantized(w.packed, out.x.get(), tokens, {out.y.data()}, rows, chunk, {i, workers});
    else
      linear(w.packed, x.data(), cols, tokens, {out.y.data()}, rows, chunk, {i, workers});
  }
  return out;
}

std::vector<double> multiply_wide(const Weights& w, const std::vector<float>& x, int64_t tokens, int64_t chunk) {
  std::vector<double> y(static_cast<size_t>(tokens * w.rows), NAN);
  const Out out{nullptr, y.data()};
  if (!is_quantised(w.packed.dtype)) {
    linear(w.packed, x.data(), w.cols, tokens, out, w.rows, chunk, {});
    return y;
  }
  const AlignedBytes quantized = aligned_bytes(quantized_bytes(tokens, w.cols));
  quantize(x.data(), w.cols, tokens, w.cols, quantized.get(), {});
  linear_quantized(w.packed, quantized.get(), tokens, out, w.rows, chunk, {});
  return y;
}

// What x is after quantize, from its own integers and scales.
double quantized_value(const std::byte* x, int64_t tokens, int64_t cols, int64_t token, int64_t col) {
  const int64_t slots = tokens <= kFewTokens ? kFewTokens : kTileTokens;
  const QuantizedBlock& block = reinterpret_cast<const QuantizedBlock*>(
      x)[(token / slots * (cols / kBlockCols) + col / kBlockCols) * slots + token % slots];
  return static_cast<double>(block.scale) * block.q[col % kBlockCols];
}

// Every result within 2e-6 of the sum of the products' magnitudes.
void expect_product(const Weights& w, const std::vector<float>& x, int64_t tokens, const Product& product) {
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t r = 0; r < w.rows; ++r) {
      double sum = 0, magnitude = 0;
      for (int64_t c = 0; c < w.cols; ++c) {
        const double xc =
            product.x ? quantized_value(product.x.get(), tokens, w.cols, t, c) : x[static_cast<size_t>(t * w.cols + c)];
        const double term = xc * w.values[static_cast<size_t>(r * w.cols + c)];
        sum += term, magnitude += std::abs(term);
      }
      ASSERT_NEAR(product.y[static_cast<size_t>(t * w.rows + r)], sum, 4e-6 * magnitude + 1e-30)
          << info(w.packed.dtype).name << " " << name(isa()) << " token " << t << " of " << tokens << " row " << r;
    }
  }
}

TEST(Pack, UnpackedRowsAreWhatTheFileHolds) {
  for (DType t : kEveryType) {
    for (int64_t rows : {1, 16, 17, 37}) {
      for (float scale : {0.02f, 0.0f}) {  // 0: any finite f16, the largest and the smallest included
        const Weights w = random_weights(t, rows, 512, static_cast<uint32_t>(rows), scale);
        std::vector<float> row(512);
        for (int64_t r = 0; r < rows; ++r) {
          unpack_row(w.packed, r, row.data());
          for (size_t c = 0; c < row.size(); ++c)
            ASSERT_EQ(row[c], w.values[static_cast<size_t>(r) * 512 + c])
                << info(t).name << " row " << r << " col " << c;
        }
      }
    }
  }
}

TEST(Pack, TakesAtMostFourPercentMoreThanTheFile) {
  for (DType t : kEveryType) {
    const double file = static_cast<double>(storage_bytes(t, 16 * 2048)),
                 packed = static_cast<double>(panel_bytes(t, 2048));
    EXPECT_GE(packed, file) << info(t).name;
    EXPECT_LE(packed, 1.04 * file) << info(t).name;
    EXPECT_EQ(panel_bytes(t, 2048) % 64, 0);
  }
}

TEST(Quantize, IntegersAreTheSameOnEveryInstructionSetAndWithinHalfAStep) {
  const int64_t cols = 96, tokens = 7;
  std::vector<float> x = random_floats(static_cast<size_t>(tokens * cols), 3);
  for (size_t i = 0; i < 32; ++i) x[i] = 0;
  x[40] = 70000;
  for (size_t i = 64; i < 96; ++i) x[i] *= 1e-38f;
  std::vector<std::byte> first;
  for (Isa isa : kEveryIsa) {
    if (!supported(isa)) continue;
    const IsaScope scope(isa);
    const AlignedBytes out = aligned_bytes(quantized_bytes(tokens, cols));
    for (int i = 0; i < 3; ++i) quantize(x.data(), cols, tokens, cols, out.get(), {i, 3});
    const std::vector<std::byte> bytes(out.get(), out.get() + quantized_bytes(tokens, cols));
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << name(isa);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t c = 0; c < cols; ++c) {
        double most = 0;
        for (int64_t i = c / 32 * 32; i < c / 32 * 32 + 32; ++i)
          most = std::max(most, std::abs(static_cast<double>(x[static_cast<size_t>(t * cols + i)])));
        EXPECT_NEAR(quantized_value(out.get(), tokens, cols, t, c), x[static_cast<size_t>(t * cols + c)],
                    most / 254 * 1.0001 + 1e-30);
      }
    }
  }
}

TEST(Quantize, WhatIsNotFiniteShowsInEveryResult) {
  const Weights w = random_weights(DType::Q4_K, 16, 256, 1);
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    for (Isa isa : kEveryIsa) {
      if (!supported(isa)) continue;
      const IsaScope scope(isa);
      std::vector<float> x = random_floats(2 * 256, 5);
      x[77] = bad;
      const Product product = multiply(w, x, 2);
      for (size_t r = 0; r < 16; ++r) {
        EXPECT_TRUE(std::isnan(product.y[r])) << name(isa);
        EXPECT_TRUE(std::isfinite(product.y[16 + r])) << name(isa);
      }
    }
  }
}

class LinearTest : public testing::TestWithParam<std::tuple<Isa, DType>> {
 protected:
  void SetUp() override {
    if (!supported(std::get<0>(GetParam()))) GTEST_SKIP() << "not on this processor";
    before_ = isa();
    use_isa(std::get<0>(GetParam()));
  }
  void TearDown() override {
    if (before_) use_isa(*before_);
  }
  DType type() const { return std::get<1>(GetParam()); }
  std::optional<Isa> before_;
};

class QuantizedLinearTest : public LinearTest {};

TEST_P(LinearTest, AgreesWithADoubleSumForEveryCountOfTokens) {
  const Weights w = random_weights(type(), 37, 512, 11);
  for (int64_t tokens = 1; tokens <= 18; ++tokens) {
    const std::vector<float> x = random_floats(static_cast<size_t>(tokens * w.cols), static_cast<uint32_t>(tokens));
    expect_product(w, x, tokens, multiply(w, x, tokens));
  }
}

TEST_P(LinearTest, AgreesForAnyRowsAndColumns) {
  const int64_t block = std::max<int64_t>(info(type()).block, 32);
  for (int64_t rows : {1, 15, 16, 33, 90}) {
    for (int64_t blocks : {1, 3}) {
      const Weights w = random_weights(type(), rows, blocks * block, static_cast<uint32_t>(rows));
      const std::vector<float> x = random_floats(static_cast<size_t>(5 * w.cols), 2);
      expect_product(w, x, 5, multiply(w, x, 5));
    }
  }
}

TEST_P(LinearTest, ATokenIsTheSameAloneAndInAnyCompanyAndShare) {
  const Weights w = random_weights(type(), 85, 256, 5);
  const int64_t most = 21;
  const std::vector<float> x = random_floats(static_cast<size_t>(most * w.cols), 6);
  const std::vector<float> all = multiply(w, x, most).y;
  for (int64_t tokens = 1; tokens < most; ++tokens) {
    const std::vector<float> some = multiply(w, x, tokens).y;
    ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << tokens;
  }
  for (int64_t t = 0; t < most; ++t) {
    const std::vector<float> alone(x.begin() + t * w.cols, x.begin() + (t + 1) * w.cols);
    const std::vector<float> y = multiply(w, alone, 1).y;
    ASSERT_TRUE(std::equal(y.begin(), y.end(), all.begin() + t * w.rows)) << t;
  }
  for (int workers = 2; workers <= 7; ++workers) ASSERT_EQ(multiply(w, x, most, workers).y, all) << workers;
}

// The whole product, rounded, is the sum of the unrounded products of the parts that its columns are cut into.
TEST_P(LinearTest, PartsCutBetweenChunksAddUpToTheSameBits) {
  const int64_t rows = 37, cols = 1024, cut = 768, chunk = 256;
  const Weights whole = random_weights(type(), rows, cols, 31);
  for (int64_t tokens : {1, 3, 16, 19}) {
    const std::vector<float> x = random_floats(static_cast<size_t>(tokens * cols), 32);
    const Product want = multiply(whole, x, tokens, 2, chunk);
    expect_product(whole, x, tokens, want);
    std::vector<double> sums(want.y.size(), 0.0);
    for (const auto& [from, to] : {std::pair{int64_t{0}, cut}, std::pair{cut, cols}}) {
      const Weights part = columns(whole, from, to);
      std::vector<float> px;
      for (int64_t t = 0; t < tokens; ++t) px.insert(px.end(), x.begin() + t * cols + from, x.begin() + t * cols + to);
      const std::vector<double> y = multiply_wide(part, px, tokens, chunk);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += y[i];
    }
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(static_cast<float>(sums[i]), want.y[i]) << tokens << " " << i;
  }
}

// Extremes of the quants and activations: where sums of narrow integers would overflow first.
TEST_P(QuantizedLinearTest, LargestIntegersDoNotOverflow) {
  for (int fill : {0x00, 0xff, 0x80, 0x7f}) {
    Weights w = random_weights(type(), 16, 256, 9);
    for (std::byte& b : w.file) b = static_cast<std::byte>(fill);
    const uint16_t one = f32_to_f16(1);
    for (size_t block = 0; block < w.file.size(); block += static_cast<size_t>(info(type()).bytes))
      for (int field : half_fields(type())) std::memcpy(w.file.data() + block + field, &one, 2);
    dequantize(type(), w.file.data(), w.values);
    const std::byte* rows[kPanelRows];
    for (int64_t r = 0; r < kPanelRows; ++r) rows[r] = w.file.data() + r * storage_bytes(type(), 256);
    pack_panel(type(), 256, rows, w.panels.get());
    for (float sign : {1.0f, -1.0f}) {
      const std::vector<float> x(16 * 256, sign);
      expect_product(w, x, 16, multiply(w, x, 16));
    }
  }
}

TEST_P(LinearTest, S13_LargeActivationsStayFinite) {
  const Weights w = random_weights(type(), 20, 256, 8);
  std::vector<float> x = random_floats(256, 4);
  x[100] = 70000;
  const Product product = multiply(w, x, 1);
  for (float y : product.y) ASSERT_TRUE(std::isfinite(y));
  expect_product(w, x, 1, product);
}

TEST(Linear, TilesGiveTheSameBitsAsVectors) {
  if (!supported(Isa::Amx)) GTEST_SKIP() << "not on this processor";
  for (DType t : kEveryType) {
    for (int64_t tokens : {1, 8, 9, 16, 24, 25, 40}) {
      const Weights w = random_weights(t, 50, 512, 21);
      const std::vector<float> x = random_floats(static_cast<size_t>(tokens * w.cols), 22);
      const auto with = [&](Isa isa) {
        const IsaScope scope(isa);
        return multiply(w, x, tokens, 2).y;
      };
      ASSERT_EQ(with(Isa::Amx), with(Isa::Avx512)) << info(t).name << " " << tokens;
    }
  }
}

std::string test_name(const testing::TestParamInfo<LinearTest::ParamType>& p) {
  return std::string(name(std::get<0>(p.param))) + "_" + std::string(info(std::get<1>(p.param)).name);
}
INSTANTIATE_TEST_SUITE_P(All, LinearTest, testing::Combine(testing::ValuesIn(kEveryIsa), testing::ValuesIn(kEveryType)),
                         test_name);
INSTANTIATE_TEST_SUITE_P(All, QuantizedLinearTest,
                         testing::Combine(testing::ValuesIn(kEveryIsa),
                                          testing::ValuesIn(std::span(kEveryType).subspan(3))),
                         test_name);

}  // namespace
}  // namespace shardwise::kernel
