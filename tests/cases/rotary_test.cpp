// Rotary tables as the files of both formats ask for them, by their numbers.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "tests/cases/crafted_model.h"
#include "tests/cases/session.h"

namespace shardwise {
namespace {

struct Llama3 {
  int64_t head_size;
  double factor;
  double base = 500000, original = 8192;

  // What pair i's frequency is divided by.
  double divisor(int64_t i) const {
    const double turns = original * frequency(i) / (2 * std::numbers::pi);
    if (turns > 4) return 1;
    if (turns < 1) return factor;
    const double kept = (turns - 1) / 3;
    return 1 / (kept + (1 - kept) / factor);
  }
  double frequency(int64_t i) const { return std::pow(base, -2 * double(i) / double(head_size)); }
};

CraftedModel one_layer(int64_t head_size) {
  return CraftedModel({.layers = 1, .heads = 1, .kv_heads = 1, .head_size = head_size, .d_ff = 32, .vocab = 32});
}

OpenModel llama3_gguf(CraftedModel m, const Llama3& s, const std::string& path) {
  std::vector<float> divisors;
  for (int64_t i = 0; i < s.head_size / 2; ++i) divisors.push_back(float(s.divisor(i)));
  m.add("rope_freqs.weight", {s.head_size / 2}, divisors);
  m.rope_base = float(s.base);
  return m.open_gguf(path);
}

OpenModel llama3_safetensors(CraftedModel m, const Llama3& s, const std::string& folder) {
  m.rope_base = float(s.base);
  return m.open_hugging_face(folder, {{"model_type", "llama"},
                                      {"rope_scaling",
                                       {{"rope_type", "llama3"},
                                        {"factor", s.factor},
                                        {"low_freq_factor", 1.0},
                                        {"high_freq_factor", 4.0},
                                        {"original_max_position_embeddings", s.original}}}});
}

void expect_frequencies(const OpenModel& model, const Llama3& s, int64_t unchanged_below, int64_t divided_from,
                        const std::map<int64_t, double>& between) {
  ASSERT_EQ(model.spec.tables.size(), 1U);
  const auto& f = model.spec.tables[0].frequencies;
  ASSERT_EQ(f.size(), size_t(s.head_size / 2));
  for (int64_t i = 0; i < s.head_size / 2; ++i) {
    const double unscaled = s.frequency(i), got = double(f[size_t(i)]);
    if (i < unchanged_below)
      EXPECT_NEAR(got / unscaled, 1, 1e-6) << i;
    else if (i >= divided_from)
      EXPECT_NEAR(got / unscaled * s.factor, 1, 1e-6) << i;
    else if (between.contains(i))
      EXPECT_NEAR(got / between.at(i), 1, 1e-6) << i;
    else
      EXPECT_TRUE(got < unscaled && got > unscaled / s.factor) << i;
  }
}

TEST(Rotary, B25_Llama3OfHeads64) {
  const Llama3 s{.head_size = 64, .factor = 32};
  const std::map<int64_t, double> between = {{15, 0.00129054793}, {16, 0.000429556797}, {17, 0.0000970828780}};
  const ScratchFolder folder;
  expect_frequencies(llama3_gguf(one_layer(64), s, folder.file("m.gguf")), s, 15, 18, between);
  expect_frequencies(llama3_safetensors(one_layer(64), s, folder.file("m")), s, 15, 18, between);
}

TEST(Rotary, B25_Llama3OfHeads128) {
  const Llama3 s{.head_size = 128, .factor = 8};
  const std::map<int64_t, double> between = {{29, 0.00216657076}, {34, 0.000178507813}};
  const ScratchFolder folder;
  expect_frequencies(llama3_gguf(one_layer(128), s, folder.file("m.gguf")), s, 29, 35, between);
  expect_frequencies(llama3_safetensors(one_layer(128), s, folder.file("m")), s, 29, 35, between);
}

using Numbers = std::vector<double>;

Numbers times(CraftedModel& m, const std::string& matrix, const Numbers& x) {
  const auto w = m.floats(matrix);
  Numbers y(w.size() / x.size());
  for (size_t r = 0; r < y.size(); ++r)
    for (size_t c = 0; c < x.size(); ++c) y[r] += double(w[r * x.size() + c]) * x[c];
  return y;
}

Numbers normed(CraftedModel& m, const std::string& weight, Numbers x) {
  double squares = 0;
  for (double v : x) squares += v * v;
  for (size_t i = 0; i < x.size(); ++i)
    x[i] *= double(m.floats(weight)[i]) / std::sqrt(squares / double(x.size()) + 1e-5);
  return x;
}

Numbers turned(Numbers x, double position, const std::vector<double>& frequencies) {
  const size_t half = x.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    const double angle = position * frequencies[i], a = x[i], b = x[i + half];
    x[i] = a * std::cos(angle) - b * std::sin(angle), x[i + half] = a * std::sin(angle) + b * std::cos(angle);
  }
  return x;
}

// The last token's logits of a model of one layer and one head whose FFN gives nothing.
std::vector<float> reference(CraftedModel& m, const std::vector<int>& ids, const std::vector<double>& frequencies) {
  std::vector<Numbers> embedding, k, v;
  for (int64_t id = 0; id < m.sizes.vocab; ++id) {
    const auto row = m.floats("token_embd.weight").subspan(size_t(id * m.sizes.d_model), size_t(m.sizes.d_model));
    embedding.emplace_back(row.begin(), row.end());
    const Numbers h = normed(m, "blk.0.attn_norm.weight", embedding.back());
    k.push_back(times(m, "blk.0.attn_k.weight", h)), v.push_back(times(m, "blk.0.attn_v.weight", h));
  }
  Numbers x = embedding[size_t(ids.back())];
  const Numbers q = turned(times(m, "blk.0.attn_q.weight", normed(m, "blk.0.attn_norm.weight", x)),
                           double(ids.size() - 1), frequencies);
  Numbers o(q.size());
  double sum = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Numbers key = turned(k[size_t(ids[i])], double(i), frequencies);
    double score = 0;
    for (size_t j = 0; j < q.size(); ++j) score += q[j] * key[j];
    const double weight = std::exp(score / std::sqrt(double(q.size())));
    sum += weight;
    for (size_t j = 0; j < q.size(); ++j) o[j] += weight * v[size_t(ids[i])][j];
  }
  for (double& e : o) e /= sum;
  const Numbers y = times(m, "blk.0.attn_output.weight", o);
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  const Numbers logits = times(m, "output.weight", normed(m, "output_norm.weight", x));
  return {logits.begin(), logits.end()};
}

TEST(Rotary, B25_FarPositionsAgreeWithDoublePrecision) {
  const Llama3 s{.head_size = 64, .factor = 32};
  CraftedModel m = one_layer(64);
  m.fill("blk.0.ffn_down.weight", 0);
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"})
    for (float& w : m.floats(name)) w *= 8;  // so that what is attended to depends on the angles, and shows
  const auto ids = random_ids(9001, 32, 12);
  std::vector<double> scaled, unscaled;
  for (int64_t i = 0; i < 32; ++i) unscaled.push_back(s.frequency(i)), scaled.push_back(s.frequency(i) / s.divisor(i));
  const auto right = reference(m, ids, scaled);
  ASSERT_GT(difference(right, reference(m, ids, unscaled)), 1e-2) << "the test cannot tell";
  const ScratchFolder folder;
  const OpenModel model = llama3_safetensors(m, s, folder.file("m"));
  for (const char* plan : {"none", "cp=2"}) {
    Session session(model, plan, {.context = 9001});
    EXPECT_LE(difference(right, session.step({{0, ids, 1}})), 1e-4) << plan;
  }
}

TEST(Rotary, B25_UnknownScalingsAreRefused) {
  const ScratchFolder folder;
  for (const char* type : {"dynamic", "longrope", "ntk-by-parts", "mrope"}) {
    CraftedModel m = one_layer(64);
    auto expect_refused = [&](const std::function<void()>& open) {
      try {
        open();
        ADD_FAILURE() << type << " is not refused";
      } catch (const std::runtime_error& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("rotary scaling '" + std::string(type) + "' is not known"));
      }
    };
    expect_refused([&] {
      m.open_hugging_face(folder.file(type),
                          {{"model_type", "llama"}, {"rope_scaling", {{"type", type}, {"factor", 2}}}});
    });
    m.gguf_pairs.push_back([&](GgufWriter& w) { w.set("llama.rope.scaling.type", type); });
    expect_refused([&] { m.open_gguf(folder.file(type + std::string(".gguf"))); });
  }
}

// Six layers, the last of them global.
CraftedModel local_and_global(int64_t d_model, int64_t heads, int64_t head_size) {
  CraftedModel m({.architecture = "gemma3",
                  .layers = 6,
                  .d_model = d_model,
                  .heads = heads,
                  .kv_heads = 1,
                  .head_size = head_size,
                  .d_ff = 32,
                  .vocab = 32,
                  .tied = true,
                  .head_norms = true,
                  .window = 16});
  m.rope_base = 1e6F;
  m.gguf_pairs.push_back([](GgufWriter& w) {
    w.set("gemma3.rope.scaling.type", "linear");
    w.set("gemma3.rope.scaling.factor", 8.0F);
  });
  return m;
}

OpenModel gemma3_safetensors(const CraftedModel& m, const std::string& folder, double query_scalar) {
  return m.open_hugging_face(folder, {{"model_type", "gemma3_text"},
                                      {"sliding_window", 16},
                                      {"sliding_window_pattern", 6},
                                      {"rope_local_base_freq", 10000.0},
                                      {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}},
                                      {"query_pre_attn_scalar", query_scalar}});
}

TEST(Rotary, B26_EachKindOfLayerHasItsTable) {
  const CraftedModel m = local_and_global(64, 1, 64);
  const ScratchFolder folder;
  for (const OpenModel& model : {m.open_gguf(folder.file("m.gguf")), gemma3_safetensors(m, folder.file("m"), 64)}) {
    auto angle = [&](int layer, size_t pair) {
      const int table = model.spec.per_layer[size_t(layer)].table;
      return 100.0 * double(model.spec.tables[size_t(table)].frequencies[pair]);
    };
    for (int layer = 0; layer < 5; ++layer) {
      EXPECT_EQ(model.spec.per_layer[size_t(layer)].window, 16) << layer;
      EXPECT_NEAR(angle(layer, 0), 100, 1e-5) << layer;
      EXPECT_NEAR(angle(layer, 8), 10, 1e-6) << layer;
    }
    EXPECT_EQ(model.spec.per_layer[5].window, 0);
    EXPECT_NEAR(angle(5, 0), 12.5, 1e-6);
    EXPECT_NEAR(angle(5, 8), 0.395284708, 1e-7);
  }
}

TEST(Rotary, B26_TheScaleOfQueriesIsTheFiles) {
  const ScratchFolder folder;
  const CraftedModel m = local_and_global(128, 1, 128);
  EXPECT_NEAR(gemma3_safetensors(m, folder.file("m"), 168).spec.attention_scale, 0.0771517, 1e-7);
  EXPECT_NEAR(m.open_gguf(folder.file("m.gguf")).spec.attention_scale, 1 / std::sqrt(128.0), 1e-7);
}

}  // namespace
}  // namespace shardwise
