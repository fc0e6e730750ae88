// Norms, gates, sums and rotation against formulas in double, on every instruction set, for widths that do not fill
// vectors, in place, and cut into shares.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "shardwise/kernel/test_weights.h"

namespace shardwise::kernel {
namespace {

// Runs f on every instruction set that this processor has.
void on_every_isa(const std::function<void()>& f) {
  for (Isa isa : kEveryIsa) {
    if (!supported(isa)) continue;
    const IsaScope scope(isa);
    SCOPED_TRACE(std::string(name(isa)));
    f();
  }
}

// Runs op once for each of n workers.
void with_workers(int n, const std::function<void(Share)>& op) {
  for (int i = 0; i < n; ++i) op({i, n});
}

TEST(Rows, RmsNormAgreesWithDouble) {
  on_every_isa([] {
    for (int64_t width : {1, 7, 16, 63, 64, 65, 576, 8192}) {
      const int64_t rows = 3;
      const std::vector<float> x = random_floats(static_cast<size_t>(rows * width), 1, 3),
                               weight = random_floats(static_cast<size_t>(width), 2);
      std::vector<float> y(x.size());
      with_workers(2, [&](Share s) { rms_norm(x.data(), rows, width, weight.data(), 1e-5f, y.data(), s); });
      for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < width; ++i) sum += std::pow(x[static_cast<size_t>(r * width + i)], 2.0);
        const double factor = 1 / std::sqrt(sum / static_cast<double>(width) + static_cast<double>(1e-5f));
        for (int64_t i = 0; i < width; ++i) {
          const double want = x[static_cast<size_t>(r * width + i)] * factor * weight[static_cast<size_t>(i)];
          ASSERT_NEAR(y[static_cast<size_t>(r * width + i)], want, 1e-6 * std::abs(want)) << width;
        }
      }
    }
  });
}

// B05: the statistic is over the whole width, here put together from two halves.
TEST(Rows, B05_NormOfACutRowIsTheNormOfTheWholeRow) {
  on_every_isa([] {
    const float halves[2][2] = {{3, 4}, {0, 0}}, weight[2] = {1, 1};
    float sums[2], whole = 0, y[4];
    for (int half = 0; half < 2; ++half) {
      sum_squares(halves[half], 1, 2, &sums[half], {});
      whole += sums[half];
    }
    for (int half = 0; half < 2; ++half) scale_rows(halves[half], 1, 2, &whole, 4, weight, 0, y + 2 * half, {});
    EXPECT_FLOAT_EQ(y[0], 1.2f);
    EXPECT_FLOAT_EQ(y[1], 1.6f);
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(y[3], 0);
  });
}

TEST(Rows, GatesAgreeWithDoubleOverTheWholeRange) {
  std::vector<float> g, up;
  for (float v = -100; v <= 100; v += 0.03125f) g.push_back(v), up.push_back(1.5f);
  const int64_t n = static_cast<int64_t>(g.size());
  on_every_isa([&] {
    std::vector<float> silu(g.size()), gelu(g.size());
    with_workers(3, [&](Share s) { gate(Gate::Silu, g.data(), up.data(), n, silu.data(), s); });
    with_workers(3, [&](Share s) { gate(Gate::GeluTanh, g.data(), up.data(), n, gelu.data(), s); });
    for (size_t i = 0; i < g.size(); ++i) {
      const double v = g[i], u = std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
      const double want_silu = 1.5 * v / (1 + std::exp(-v)), want_gelu = 1.5 * v / (1 + std::exp(-2 * u));
      ASSERT_NEAR(silu[i], want_silu, 1e-6 * std::abs(want_silu) + 1e-35) << v;
      // Where the exponent is large, its own rounding shows.
      ASSERT_NEAR(gelu[i], want_gelu, (1e-6 + 5e-7 * std::abs(u)) * std::abs(want_gelu) + 1e-35) << v;
    }
  });
}

TEST(Rows, GatesKeepNaN) {
  on_every_isa([] {
    std::vector<float> g(20, 1), up(20, 1), y(20);
    g[3] = NAN, up[18] = NAN;
    for (Gate kind : {Gate::Silu, Gate::GeluTanh}) {
      gate(kind, g.data(), up.data(), 20, y.data(), {});
      for (size_t i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(y[i]), i == 3 || i == 18) << i;
    }
  });
}

TEST(Rows, SumsAreExactInPlaceAndInShares) {
  on_every_isa([] {
    for (int64_t n : {1, 63, 64, 200}) {
      const std::vector<float> a = random_floats(static_cast<size_t>(n), 1),
                               b = random_floats(static_cast<size_t>(n), 2);
      std::vector<float> y = a;
      with_workers(3, [&](Share s) { add(y.data(), b.data(), n, y.data(), s); });
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], a[i] + b[i]);
    }
    const std::vector<float> x = random_floats(5 * 21, 3), bias = random_floats(21, 4);
    std::vector<float> y(x.size());
    with_workers(2, [&](Share s) { add_bias(x.data(), bias.data(), 5, 21, y.data(), s); });
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], x[i] + bias[i % 21]);
  });
}

TEST(Rows, RopeAgreesWithDoubleUpToAMillion) {
  const int64_t heads = 3, head_size = 80;
  for (int64_t rotated : {80, 64, 6}) {
    std::vector<float> frequencies;
    for (int64_t i = 0; i < rotated / 2; ++i)
      frequencies.push_back(
          static_cast<float>(std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(rotated))));
    const std::vector<int32_t> positions = {0, 1, 2, 511, 9000, 131071, 999999, 1000000};
    const int64_t tokens = static_cast<int64_t>(positions.size());
    const std::vector<float> x = random_floats(static_cast<size_t>(tokens * heads * head_size), 7);
    for (bool interleaved : {false, true}) {
      const RopeTable table{frequencies, 1.25f, interleaved};
      on_every_isa([&] {
        std::vector<float> y(x.size()), in_place = x;
        with_workers(5,
                     [&](Share s) { rope(x.data(), tokens, heads, head_size, positions.data(), table, y.data(), s); });
        rope(in_place.data(), tokens, heads, head_size, positions.data(), table, in_place.data(), {});
        ASSERT_EQ(in_place, y);
        for (int64_t row = 0; row < tokens * heads; ++row) {
          const float* in = x.data() + row * head_size;
          const float* out = y.data() + row * head_size;
          for (int64_t i = 0; i < rotated / 2; ++i) {
            const int64_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + rotated / 2;
            const double angle =
                static_cast<double>(positions[static_cast<size_t>(row / heads)]) * frequencies[static_cast<size_t>(i)];
            const double s = 1.25 * std::sin(angle), c = 1.25 * std::cos(angle);
            const double size = std::abs(in[a]) + std::abs(in[b]);
            ASSERT_NEAR(out[a], in[a] * c - in[b] * s, 3e-7 * size);
            ASSERT_NEAR(out[b], in[a] * s + in[b] * c, 3e-7 * size);
          }
          for (int64_t i = rotated; i < head_size; ++i) ASSERT_EQ(out[i], in[i]);
        }
      });
    }
  }
}

TEST(Rows, RopeOfAHeadDoesNotDependOnTheOthers) {
  on_every_isa([] {
    const std::vector<float> frequencies = {1, 0.1f, 0.01f, 0.001f}, x = random_floats(6 * 8, 1);
    const std::vector<int32_t> positions = {5, 100, 7};
    const RopeTable table{frequencies, 1, false};
    std::vector<float> all(x.size()), alone(8);
    rope(x.data(), 3, 2, 8, positions.data(), table, all.data(), {});
    rope(x.data() + 3 * 8, 1, 1, 8, positions.data() + 1, table, alone.data(), {});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + 3 * 8));
  });
}

TEST(Isa, PlainIsAlwaysThereAndTheBestIsChosen) {
  EXPECT_TRUE(supported(Isa::Plain));
  EXPECT_TRUE(supported(isa()));
  EXPECT_EQ(name(Isa::Avx2), "avx2");
}

}  // namespace
}  // namespace shardwise::kernel
