// Values come from a fixed seed; the order of tensors in the file is the order of the draws.
#include "tests/support/random_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>

#include "shardwise/file/writer.h"

namespace shardwise {
namespace {

class Maker {
 public:
  explicit Maker(const RandomModel& m) : m_(m), random_(m.seed) {}

  GgufWriter run() {
    pairs();
    matrix("token_embd.weight", m_.vocab, m_.d_model);
    for (int i = 0; i < m_.layers; ++i) layer("blk." + std::to_string(i) + ".");
    vector("output_norm.weight", m_.d_model, 1, 0.1F);
    if (!m_.tied) matrix("output.weight", m_.vocab, m_.d_model);
    return std::move(out_);
  }

 private:
  void pairs() {
    auto key = [&](const char* k) { return m_.architecture + "." + k; };
    out_.set("general.architecture", m_.architecture);
    out_.set(key("block_count"), uint32_t(m_.layers));
    out_.set(key("context_length"), uint32_t(4096));
    out_.set(key("embedding_length"), uint32_t(m_.d_model));
    out_.set(key("feed_forward_length"), uint32_t(m_.d_ff));
    out_.set(key("attention.head_count"), uint32_t(m_.heads));
    out_.set(key("attention.head_count_kv"), uint32_t(m_.kv_heads));
    out_.set(key("attention.key_length"), uint32_t(m_.head_size));
    out_.set(key("attention.value_length"), uint32_t(m_.head_size));
    out_.set(key("rope.dimension_count"), uint32_t(m_.head_size));
    out_.set(key("attention.layer_norm_rms_epsilon"), 1e-5F);
    if (m_.experts > 0) out_.set(key("expert_count"), m_.experts);
    if (m_.window > 0) out_.set(key("attention.sliding_window"), uint32_t(m_.window));
  }

  void layer(const std::string& p) {
    const bool norms_after = m_.architecture == "gemma3" || m_.architecture == "olmo2";
    const bool norms_before = m_.architecture != "olmo2";
    const int64_t q = m_.heads * m_.head_size, kv = m_.kv_heads * m_.head_size;
    if (norms_before) vector(p + "attn_norm.weight", m_.d_model, 1, 0.1F);
    if (m_.fused) {
      matrix(p + "attn_qkv.weight", q + 2 * kv, m_.d_model);
    } else {
      matrix(p + "attn_q.weight", q, m_.d_model), matrix(p + "attn_k.weight", kv, m_.d_model);
      matrix(p + "attn_v.weight", kv, m_.d_model);
    }
    matrix(p + "attn_output.weight", m_.d_model, q);
    if (m_.head_norms || m_.full_norms) {
      vector(p + "attn_q_norm.weight", m_.full_norms ? q : m_.head_size, 1, 0.1F);
      vector(p + "attn_k_norm.weight", m_.full_norms ? kv : m_.head_size, 1, 0.1F);
    }
    if (norms_before) vector(p + "ffn_norm.weight", m_.d_model, 1, 0.1F);
    if (m_.fused) {
      matrix(p + "ffn_up.weight", 2 * m_.d_ff, m_.d_model);
    } else {
      matrix(p + "ffn_gate.weight", m_.d_ff, m_.d_model), matrix(p + "ffn_up.weight", m_.d_ff, m_.d_model);
    }
    matrix(p + "ffn_down.weight", m_.d_model, m_.d_ff);
    if (norms_after)
      vector(p + "post_attention_norm.weight", m_.d_model, 1, 0.1F),
          vector(p + "post_ffw_norm.weight", m_.d_model, 1, 0.1F);
    const bool qkv_biases = m_.biases || m_.architecture == "qwen2";
    if (qkv_biases)
      vector(p + "attn_q.bias", q, 0, 1), vector(p + "attn_k.bias", kv, 0, 1), vector(p + "attn_v.bias", kv, 0, 1);
    if (!m_.biases) return;
    vector(p + "attn_output.bias", m_.d_model, 0, 1), vector(p + "ffn_gate.bias", m_.d_ff, 0, 1);
    vector(p + "ffn_up.bias", m_.d_ff, 0, 1), vector(p + "ffn_down.bias", m_.d_model, 0, 1);
  }

  std::vector<float> normal(int64_t n, float mean, float deviation) {
    std::normal_distribution<float> draw(mean, deviation);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& x : values) x = draw(random_);
    return values;
  }

  void vector(const std::string& name, int64_t n, float mean, float deviation) {
    const int64_t shape[] = {n};
    out_.tensor(name, shape, normal(n, mean, deviation));
  }

  void matrix(const std::string& name, int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns};
    const DType type = columns % info(m_.type).block == 0 ? m_.type : DType::F32;
    if (type == DType::F32) return out_.tensor(name, shape, normal(rows * columns, 0, 0.05F));
    out_.tensor(name, type, shape, blocks(type, rows * columns));
  }

  // Random bits, but for the f16 scales, which are small positive numbers.
  std::vector<std::byte> blocks(DType type, int64_t elements) {
    std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(type, elements)));
    for (std::byte& b : bytes) b = std::byte(random_());
    const auto size = size_t(info(type).bytes);
    for (size_t at = 0; at < bytes.size(); at += size)
      for (size_t offset : scale_offsets(type)) {
        const uint16_t scale = f32_to_f16(0.0005F + 0.001F * float(random_() % 1000) / 1000);
        std::memcpy(bytes.data() + at + offset, &scale, 2);
      }
    return bytes;
  }

  static std::vector<size_t> scale_offsets(DType type) {
    switch (type) {
      case DType::Q4_1:
      case DType::Q5_1:
      case DType::Q4_K:
      case DType::Q5_K: return {0, 2};
      case DType::Q2_K: return {80, 82};
      case DType::Q3_K: return {108};
      case DType::Q6_K: return {208};
      default: return {0};
    }
  }

  const RandomModel& m_;
  std::mt19937 random_;
  GgufWriter out_;
};

}  // namespace

ScratchFolder::ScratchFolder() {
  static std::atomic<int> count{0};
  path_ = std::filesystem::temp_directory_path() /
          ("shardwise-test-" + std::to_string(getpid()) + "-" + std::to_string(++count));
  std::filesystem::create_directories(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_random_model(const RandomModel& m, const std::string& path) {
  const Status written = Maker(m).run().write(path);
  ASSERT_TRUE(written) << written.error().what;
}

OpenModel open_random_model(const RandomModel& m, const std::string& path) {
  write_random_model(m, path);
  auto file = ModelFile::open(path);
  if (!file) throw std::runtime_error(file.error().what);
  auto spec = read_spec(*file);
  if (!spec) throw std::runtime_error(spec.error().what);
  return {std::move(*file), std::move(*spec)};
}

}  // namespace shardwise
