// Attention over pages against a softmax in double: windows, gaps, several sequences, groups, cuts of heads and of the
// cache; merging of partial results; and independence of company and shares.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "shardwise/kernel/test_weights.h"

namespace shardwise::kernel {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A cache of some sequences, kept twice: in pages, and as plain rows for the reference.
class Cache {
 public:
  Cache(CacheType type, int64_t sequences, int64_t heads, int64_t head_size)
      : type_(type),
        heads_(heads),
        head_size_(head_size),
        rows_(static_cast<size_t>(sequences)),
        pages_(static_cast<size_t>(sequences)),
        views_(static_cast<size_t>(sequences)) {}

  // k, v: [heads, head_size]. A page is filled before the next begins; a free row holds NaN in every element.
  void put(int sequence, int32_t position, const float* k, const float* v, bool new_page = false) {
    auto& pages = pages_[static_cast<size_t>(sequence)];
    if (pages.empty() || new_page || pages.back().used == kPageRows) add_page(sequence);
    OnePage& page = pages.back();
    page.positions[static_cast<size_t>(page.used)] = position;
    const RowPlace place = {page.data.get(), page.used++};
    append(type_, k, v, {&place, 1}, heads_, head_size_, {});
    auto rounded = [&](float x) { return type_ == CacheType::F16 ? f16_to_f32(f32_to_f16(x)) : x; };
    Row row;
    row.position = position;
    for (int64_t i = 0; i < heads_ * head_size_; ++i) row.k.push_back(rounded(k[i])), row.v.push_back(rounded(v[i]));
    rows_[static_cast<size_t>(sequence)].push_back(row);
  }

  std::vector<std::span<const Page>> pages() {
    std::vector<std::span<const Page>> spans;
    for (size_t s = 0; s < pages_.size(); ++s) {
      views_[s].clear();
      for (const OnePage& page : pages_[s]) views_[s].push_back({page.data.get(), page.positions.data()});
      spans.emplace_back(views_[s]);
    }
    return spans;
  }

  // [head_size] and the lse, in double.
  std::vector<double> reference(const Attend& a, int64_t token, int64_t head) const {
    const float* q = a.q + (token * a.heads + head) * head_size_;
    const int64_t kv = (a.first_head + head) / a.group - a.first_kv_head;
    std::vector<double> out(static_cast<size_t>(head_size_ + 1), 0.0);
    double max = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (const Row& row : rows_[static_cast<size_t>(a.sequences[token])]) {
        if (row.position > a.positions[token]) continue;
        if (a.window > 0 && row.position <= a.positions[token] - a.window) continue;
        double score = 0;
        for (int64_t d = 0; d < head_size_; ++d)
          score += static_cast<double>(q[d]) * row.k[static_cast<size_t>(kv * head_size_ + d)];
        score *= a.scale;
        if (pass == 0) {
          max = std::max(max, score);
          continue;
        }
        sum += std::exp(score - max);
        for (int64_t d = 0; d < head_size_; ++d)
          out[static_cast<size_t>(d)] += std::exp(score - max) * row.v[static_cast<size_t>(kv * head_size_ + d)];
      }
    }
    for (int64_t d = 0; d < head_size_ && sum > 0; ++d) out[static_cast<size_t>(d)] /= sum;
    out.back() = sum > 0 ? max + std::log(sum) : -INFINITY;
    return out;
  }

 private:
  struct Row {
    int32_t position;
    std::vector<float> k, v;
  };
  struct OnePage {
    AlignedBytes data;
    std::vector<int32_t> positions;
    int used;
  };

  void add_page(int sequence) {
    const int64_t bytes = heads_ * page_head_bytes(type_, head_size_);
    OnePage page{aligned_bytes(bytes), std::vector<int32_t>(kPageRows, kFreeRow), 0};
    std::memset(page.data.get(), 0xff, static_cast<size_t>(bytes));  // NaN in f16 and f32
    pages_[static_cast<size_t>(sequence)].push_back(std::move(page));
  }

  CacheType type_;
  int64_t heads_, head_size_;
  std::vector<std::vector<Row>> rows_;
  std::vector<std::vector<OnePage>> pages_;
  std::vector<std::vector<Page>> views_;
};

struct Query {
  std::vector<float> q;
  std::vector<int32_t> positions, sequences;
};

Attend attend_of(const Query& query, int64_t heads, int64_t head_size, int64_t group, CacheType type,
                 const std::vector<std::span<const Page>>& pages) {
  Attend a;
  a.q = query.q.data();
  a.tokens = static_cast<int64_t>(query.positions.size());
  a.heads = heads;
  a.head_size = head_size;
  a.group = group;
  a.positions = query.positions.data();
  a.sequences = query.sequences.data();
  a.pages = pages;
  a.scale = 1 / std::sqrt(static_cast<float>(head_size));
  a.type = type;
  return a;
}

std::vector<float> run(const Attend& a, int workers = 1) {
  std::vector<float> out(static_cast<size_t>(a.tokens * a.heads * a.head_size), NAN);
  for (int i = 0; i < workers; ++i) attend(a, {out.data()}, {i, workers});
  return out;
}

// The sums before they are divided: [tokens, heads, head_size + 2].
std::vector<double> run_wide(const Attend& a) {
  std::vector<double> out(static_cast<size_t>(a.tokens * a.heads * (a.head_size + 2)), NAN);
  attend(a, {nullptr, out.data()}, {});
  return out;
}

// Results, and the sums that they are made of, against the reference.
void expect_reference(const Cache& cache, const Attend& a, const std::vector<float>& out,
                      const std::vector<double>& sums) {
  const int64_t width = a.head_size + 2;
  for (int64_t t = 0; t < a.tokens; ++t) {
    for (int64_t h = 0; h < a.heads; ++h) {
      const std::vector<double> want = cache.reference(a, t, h);
      const float* got = out.data() + (t * a.heads + h) * a.head_size;
      for (int64_t d = 0; d < a.head_size; ++d)
        ASSERT_NEAR(got[d], want[static_cast<size_t>(d)], 3e-6 * (1 + std::abs(want[static_cast<size_t>(d)])))
            << name(isa()) << " token " << t << " head " << h << " element " << d;
      const double weights = sums[static_cast<size_t>((t * a.heads + h) * width + a.head_size)];
      const double reference = sums[static_cast<size_t>((t * a.heads + h) * width + a.head_size + 1)];
      if (std::isinf(want.back())) {
        ASSERT_EQ(weights, 0);
        ASSERT_EQ(reference, -kInfinity);
      } else {
        const double lse = (reference + std::log2(weights)) * M_LN2;
        ASSERT_NEAR(lse, want.back(), 3e-6 * (1 + std::abs(want.back())));
      }
    }
  }
}

void expect_reference(const Cache& cache, const Attend& a) { expect_reference(cache, a, run(a), run_wide(a)); }

// Three sequences: one long and in order, one with gaps and pages out of order, one empty.
void fill(Cache& cache, int64_t row_size, float deviation = 1) {
  uint32_t seed = 1;
  const auto put = [&](int sequence, int32_t position, bool new_page) {
    const std::vector<float> k = random_floats(static_cast<size_t>(row_size), ++seed, deviation);
    const std::vector<float> v = random_floats(static_cast<size_t>(row_size), ++seed);
    cache.put(sequence, position, k.data(), v.data(), new_page);
  };
  for (int32_t p = 0; p < 75; ++p) put(0, p, p == 20);
  for (int32_t p : {40, 41, 43, 50, 51, 52}) put(1, p, false);
  for (int32_t p : {0, 1, 2, 3, 7, 9}) put(1, p, p == 0);
  for (int32_t p : {20, 22, 21, 31}) put(1, p, p == 20);
}

Query queries(int64_t heads, int64_t head_size, float deviation = 1) {
  Query query;
  for (int32_t p : {0, 5, 15, 16, 17, 18, 19, 20, 40, 73, 74, 200})
    query.positions.push_back(p), query.sequences.push_back(0);
  for (int32_t p : {2, 8, 21, 43, 60}) query.positions.push_back(p), query.sequences.push_back(1);
  query.positions.push_back(3), query.sequences.push_back(2);
  query.positions.push_back(30), query.sequences.push_back(0);
  query.q = random_floats(query.positions.size() * static_cast<size_t>(heads * head_size), 99, deviation);
  return query;
}

struct Shape {
  int64_t kv_heads, group, first_head, heads, head_size;
};

class AttendTest : public testing::TestWithParam<std::tuple<Isa, CacheType>> {
 protected:
  void SetUp() override {
    if (!supported(std::get<0>(GetParam()))) GTEST_SKIP() << "not on this processor";
    before_ = isa();
    use_isa(std::get<0>(GetParam()));
  }
  void TearDown() override {
    if (before_) use_isa(*before_);
  }
  CacheType type() const { return std::get<1>(GetParam()); }
  std::optional<Isa> before_;
};

TEST_P(AttendTest, AgreesWithDoubleForWindowsGapsSequencesAndGroups) {
  for (const Shape& s : {Shape{1, 1, 0, 1, 64}, Shape{2, 3, 0, 6, 16}, Shape{3, 3, 2, 5, 8}, Shape{2, 9, 4, 11, 20},
                         Shape{1, 40, 3, 37, 16}, Shape{2, 4, 0, 8, 128}, Shape{4, 1, 1, 3, 33}}) {
    Cache cache(type(), 3, s.kv_heads, s.head_size);
    fill(cache, s.kv_heads * s.head_size);
    const Query query = queries(s.heads, s.head_size);
    const auto pages = cache.pages();
    Attend a = attend_of(query, s.heads, s.head_size, s.group, type(), pages);
    a.first_head = s.first_head;
    for (int64_t window : {0, 1, 4, 17, 64, 1000}) {
      a.window = window;
      SCOPED_TRACE(testing::Message() << "group " << s.group << " heads " << s.heads << " window " << window);
      expect_reference(cache, a);
    }
  }
}

TEST_P(AttendTest, AQueryIsTheSameAloneAndInAnyCompanyAndShare) {
  const Shape s{2, 3, 1, 5, 20};
  Cache cache(type(), 3, s.kv_heads, s.head_size);
  fill(cache, s.kv_heads * s.head_size);
  const Query query = queries(s.heads, s.head_size);
  const auto pages = cache.pages();
  Attend a = attend_of(query, s.heads, s.head_size, s.group, type(), pages);
  a.first_head = s.first_head;
  a.window = 20;
  const std::vector<float> all = run(a);
  for (int workers = 2; workers <= 40; workers += 3) ASSERT_EQ(run(a, workers), all) << workers;
  const int64_t width = s.heads * s.head_size;
  for (int64_t t = 0; t < a.tokens; ++t) {
    Attend one = a;
    one.tokens = 1, one.q += t * width, one.positions += t, one.sequences += t;
    for (int workers : {1, 4}) {
      const std::vector<float> alone = run(one, workers);
      ASSERT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + t * width)) << t;
    }
  }
}

TEST_P(AttendTest, B08_LargeScoresNeitherOverflowNorVanish) {
  const int64_t head_size = 16;
  for (float size : {80.0f, -80.0f, 3000.0f}) {
    Cache cache(type(), 1, 1, head_size);
    const std::vector<float> k(head_size, 1), v(head_size, 5), other_k(head_size, -1), other_v(head_size, -5);
    cache.put(0, 0, other_k.data(), other_v.data());
    for (int32_t p = 1; p < 40; ++p) cache.put(0, p, (p % 2 ? k : other_k).data(), (p % 2 ? v : other_v).data());
    const Query query{std::vector<float>(head_size, size / 16), {39}, {0}};
    const auto pages = cache.pages();
    Attend a = attend_of(query, 1, head_size, 1, type(), pages);
    a.scale = 1;
    expect_reference(cache, a);
  }
}

TEST_P(AttendTest, B08_CacheCutInAnyWayMergesToTheWhole) {
  const int64_t head_size = 24, heads = 4;
  Cache whole(type(), 1, 2, head_size),
      parts[3] = {{type(), 1, 2, head_size}, {type(), 1, 2, head_size}, {type(), 1, 2, head_size}};
  for (int32_t p = 0; p < 50; ++p) {
    const std::vector<float> k = random_floats(48, static_cast<uint32_t>(p)),
                             v = random_floats(48, static_cast<uint32_t>(1000 + p));
    whole.put(0, p, k.data(), v.data());
    parts[p < 7 ? 0 : 2].put(0, p, k.data(), v.data());  // the second part stays empty
  }
  Query query{random_floats(static_cast<size_t>(3 * heads * head_size), 5), {0, 6, 49}, {0, 0, 0}};
  const auto pages = whole.pages();
  const Attend a = attend_of(query, heads, head_size, 2, type(), pages);
  std::vector<std::vector<double>> results;
  for (Cache& part : parts) {
    const auto part_pages = part.pages();
    results.push_back(run_wide(attend_of(query, heads, head_size, 2, type(), part_pages)));
  }
  const double* const pointers[] = {results[0].data(), results[1].data(), results[2].data()};
  std::vector<float> merged(static_cast<size_t>(3 * heads * head_size));
  std::vector<double> sums(static_cast<size_t>(3 * heads * (head_size + 2)));
  for (int i = 0; i < 2; ++i) {
    merge(pointers, 3 * heads, head_size, {merged.data()}, {i, 2});
    merge(pointers, 3 * heads, head_size, {nullptr, sums.data()}, {i, 2});
  }
  expect_reference(whole, a, merged, sums);
}

// Whole pages dealt to three caches, in another order: not a bit changes.
TEST_P(AttendTest, PagesOnAnyRankInAnyOrderGiveTheSameBits) {
  const int64_t head_size = 24, heads = 4;
  using Caches = std::array<Cache, 3>;
  Cache whole(type(), 1, 2, head_size);
  Caches parts{Cache(type(), 1, 2, head_size), Cache(type(), 1, 2, head_size), Cache(type(), 1, 2, head_size)};
  const auto put = [&](Cache& cache, int32_t page) {
    for (int32_t p = page * 16; p < std::min(page * 16 + 16, 120); ++p) {
      const std::vector<float> k = random_floats(48, static_cast<uint32_t>(p), 2);
      const std::vector<float> v = random_floats(48, static_cast<uint32_t>(1000 + p));
      cache.put(0, p, k.data(), v.data(), p % 16 == 0);
    }
  };
  for (int32_t page = 0; page < 8; ++page) put(whole, page);
  for (int32_t page : {5, 1, 7, 3, 0, 6, 2, 4}) put(parts[static_cast<size_t>(page % 3)], page);
  const Query query{random_floats(static_cast<size_t>(4 * heads * head_size), 5, 2), {0, 17, 64, 119}, {0, 0, 0, 0}};
  const auto pages = whole.pages();
  const std::vector<float> want = run(attend_of(query, heads, head_size, 2, type(), pages));
  std::vector<std::vector<double>> results;
  for (Cache& part : parts) {
    const auto part_pages = part.pages();
    results.push_back(run_wide(attend_of(query, heads, head_size, 2, type(), part_pages)));
  }
  std::vector<float> merged(want.size());
  merge(std::array<const double*, 3>{results[2].data(), results[0].data(), results[1].data()}, 4 * heads, head_size,
        {merged.data()}, {});
  EXPECT_EQ(merged, want);
}

// Q = 0 ties all scores: the result is the mean of the values seen, so every wrong mask or lost row shows.
TEST_P(AttendTest, B16_B17_UniformProbeGivesTheMeanOfTheWindow) {
  const int64_t head_size = 16;
  Cache cache(type(), 1, 1, head_size);
  const std::vector<float> k = random_floats(head_size, 1);
  for (int32_t p = 0; p < 12; ++p)
    cache.put(0, p, k.data(), std::vector<float>(head_size, static_cast<float>(p)).data());
  Query query;
  for (int32_t p = 0; p < 12; ++p) query.positions.push_back(p), query.sequences.push_back(0);
  query.q.assign(12 * head_size, 0);
  const auto pages = cache.pages();
  Attend a = attend_of(query, 1, head_size, 1, type(), pages);
  const auto at = [&](int64_t window, int64_t token) {
    a.window = window;
    return run(a)[static_cast<size_t>(token * head_size)];
  };
  EXPECT_FLOAT_EQ(at(4, 11), 9.5f);
  EXPECT_FLOAT_EQ(at(0, 11), 5.5f);
  EXPECT_FLOAT_EQ(at(4, 4), 2.5f);
  EXPECT_FLOAT_EQ(at(4, 3), 1.5f);
  EXPECT_FLOAT_EQ(at(4, 5), 3.5f);
  EXPECT_FLOAT_EQ(at(6, 11), 8.5f);
  EXPECT_FLOAT_EQ(at(1, 7), 7.0f);
}

TEST_P(AttendTest, ATokenThatSeesNothingGivesZeros) {
  Cache cache(type(), 1, 1, 16);
  const std::vector<float> ones(16, 1);
  cache.put(0, 10, ones.data(), ones.data());
  const Query query{std::vector<float>(32, 1), {9, 10}, {0, 0}};
  const auto pages = cache.pages();
  const Attend a = attend_of(query, 1, 16, 1, type(), pages);
  const std::vector<float> out = run(a);
  for (size_t i = 0; i < 32; ++i) ASSERT_EQ(out[i], i < 16 ? 0 : 1);
  const std::vector<double> sums = run_wide(a);
  for (size_t i = 0; i < 17; ++i) ASSERT_EQ(sums[i], 0);
  EXPECT_EQ(sums[17], -kInfinity);
}

TEST_P(AttendTest, AComputedNaNIsNotHidden) {
  Cache cache(type(), 1, 1, 16);
  const std::vector<float> ones(16, 1), bad(16, NAN);
  cache.put(0, 0, bad.data(), ones.data());
  const Query query{std::vector<float>(16, 1), {0}, {0}};
  const auto pages = cache.pages();
  EXPECT_TRUE(std::isnan(run(attend_of(query, 1, 16, 1, type(), pages))[0]));
}

INSTANTIATE_TEST_SUITE_P(
    All, AttendTest, testing::Combine(testing::ValuesIn(kEveryIsa), testing::Values(CacheType::F32, CacheType::F16)),
    [](const testing::TestParamInfo<AttendTest::ParamType>& p) {
      return std::string(name(std::get<0>(p.param))) + (std::get<1>(p.param) == CacheType::F16 ? "_F16" : "_F32");
    });

TEST(Append, TokensWithoutAPlaceAreNotStored) {
  std::vector<float> page(2 * 16 * 4, 7), k = {1, 2, 3, 4, 5, 6, 7, 8}, v = {-1, -2, -3, -4, -5, -6, -7, -8};
  const RowPlace places[] = {{nullptr, 0}, {reinterpret_cast<std::byte*>(page.data()), 3}};
  append(CacheType::F32, k.data(), v.data(), places, 1, 4, {});
  for (size_t d = 0; d < 4; ++d) {
    EXPECT_EQ(page[d * 16 + 3], k[4 + d]);
    EXPECT_EQ(page[d * 16 + 2], 7);
    EXPECT_EQ(page[(16 + 3) * 4 + d], v[4 + d]);
  }
}

// Parts of one element: the weighted sum, the sum of weights, the reference.
TEST(Merge, B08_NothingIsNeutralInBothOrders) {
  const double nothing[] = {NAN, NAN, -kInfinity}, five[] = {10, 2, 1};
  for (const auto& parts : {std::array{nothing, five}, std::array{five, nothing}}) {
    float out;
    double sums[3];
    const std::array<const double*, 2> both{parts[0], parts[1]};
    merge(both, 1, 1, {&out}, {});
    merge(both, 1, 1, {nullptr, sums}, {});
    EXPECT_EQ(out, 5);
    EXPECT_EQ(sums[0], 10);
    EXPECT_EQ(sums[1], 2);
    EXPECT_EQ(sums[2], 1);
  }
  float out = NAN;
  double sums[3];
  const std::array<const double*, 2> both{nothing, nothing};
  merge(both, 1, 1, {&out}, {});
  merge(both, 1, 1, {nullptr, sums}, {});
  EXPECT_EQ(out, 0);
  EXPECT_EQ(sums[1], 0);
  EXPECT_EQ(sums[2], -kInfinity);
}

TEST(Merge, WeighsByPowersOfTheReference) {
  const double a[] = {3, 30, 3, 80}, b[] = {3, 30, 1, 81};  // means 1 and 10, 3 and 30; b's weights count double
  float out[2];
  merge(std::array<const double*, 2>{a, b}, 1, 2, {out}, {});
  EXPECT_FLOAT_EQ(out[0], (1.5f + 3) / 2.5f);
  EXPECT_FLOAT_EQ(out[1], (15.0f + 30) / 2.5f);
}

}  // namespace
}  // namespace shardwise::kernel
