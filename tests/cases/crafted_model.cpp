// The random tensors come from the file that the random model makes, read back.
#include "tests/cases/crafted_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace shardwise {
namespace {

OpenModel open(const std::string& path) {
  auto file = ModelFile::open(path);
  if (!file) throw std::runtime_error(file.error().what);
  auto spec = read_spec(*file);
  if (!spec) throw std::runtime_error(spec.error().what);
  return {std::move(*file), std::move(*spec)};
}

// "blk.3.attn_q.weight" as Hugging Face names it. What stands before the FFN is named after the attention before it,
// except where both have norms after them.
std::string hugging_face_name(const std::string& gguf, bool norms_after) {
  std::map<std::string, std::string> names = {{"token_embd", "model.embed_tokens"},
                                              {"output_norm", "model.norm"},
                                              {"output", "lm_head"},
                                              {"attn_norm", "input_layernorm"},
                                              {"attn_q", "self_attn.q_proj"},
                                              {"attn_k", "self_attn.k_proj"},
                                              {"attn_v", "self_attn.v_proj"},
                                              {"attn_output", "self_attn.o_proj"},
                                              {"attn_q_norm", "self_attn.q_norm"},
                                              {"attn_k_norm", "self_attn.k_norm"},
                                              {"post_attention_norm", "post_attention_layernorm"},
                                              {"post_ffw_norm", "post_feedforward_layernorm"},
                                              {"ffn_norm", "post_attention_layernorm"},
                                              {"ffn_gate", "mlp.gate_proj"},
                                              {"ffn_up", "mlp.up_proj"},
                                              {"ffn_down", "mlp.down_proj"}};
  if (norms_after) names["ffn_norm"] = "pre_feedforward_layernorm";
  const size_t kind = gguf.rfind('.');
  const bool of_layer = gguf.starts_with("blk.");
  const size_t number = of_layer ? gguf.find('.', 4) + 1 : 0;
  const std::string prefix = of_layer ? "model.layers." + gguf.substr(4, number - 4) : "";
  return prefix + names.at(gguf.substr(number, kind - number)) + gguf.substr(kind);
}

}  // namespace

CraftedModel::CraftedModel(const RandomModel& m) : sizes(m) {
  const ScratchFolder folder;
  const OpenModel made = open_random_model(m, folder.file("random.gguf"));
  for (const TensorInfo& t : made.file.tensors()) tensors[t.name] = {t.dtype, t.shape, {t.data, t.data + t.bytes}};
}

std::span<float> CraftedModel::floats(const std::string& name) {
  CraftedTensor& t = tensors.at(name);
  if (t.dtype != DType::F32) throw std::runtime_error(name + " is not F32");
  return {reinterpret_cast<float*>(t.bytes.data()), t.bytes.size() / sizeof(float)};
}

float& CraftedModel::at(const std::string& name, int64_t row, int64_t column) {
  return floats(name)[size_t(row * tensors.at(name).shape.at(1) + column)];
}

void CraftedModel::add(const std::string& name, std::vector<int64_t> shape, const std::vector<float>& values) {
  CraftedTensor& t = tensors[name];
  t = {DType::F32, std::move(shape), std::vector<std::byte>(values.size() * sizeof(float))};
  std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
}

void CraftedModel::reorder_rows(const std::string& name, const std::function<int64_t(int64_t)>& order) {
  CraftedTensor& t = tensors.at(name);
  const std::vector<std::byte> before = t.bytes;
  const size_t row = before.size() / size_t(t.shape[0]);
  for (int64_t i = 0; i < t.shape[0]; ++i)
    std::memcpy(t.bytes.data() + size_t(i) * row, before.data() + size_t(order(i)) * row, row);
}

OpenModel CraftedModel::open_gguf(const std::string& path) const {
  GgufWriter out;
  auto key = [&](const char* k) { return sizes.architecture + "." + k; };
  out.set("general.architecture", sizes.architecture);
  for (const auto& [name, value] : {std::pair<const char*, int64_t>{"block_count", sizes.layers},
                                    {"context_length", 131072},
                                    {"embedding_length", sizes.d_model},
                                    {"feed_forward_length", sizes.d_ff},
                                    {"attention.head_count", sizes.heads},
                                    {"attention.head_count_kv", sizes.kv_heads},
                                    {"attention.key_length", sizes.head_size},
                                    {"attention.value_length", sizes.head_size},
                                    {"rope.dimension_count", sizes.head_size}})
    out.set(key(name), uint32_t(value));
  out.set(key("attention.layer_norm_rms_epsilon"), norm_eps);
  out.set(key("rope.freq_base"), rope_base);
  if (sizes.window > 0) out.set(key("attention.sliding_window"), uint32_t(sizes.window));
  for (const auto& set : gguf_pairs) set(out);
  for (const auto& [name, t] : tensors) out.tensor(name, t.dtype, t.shape, t.bytes);
  if (const Status written = out.write(path); !written) throw std::runtime_error(written.error().what);
  return open(path);
}

OpenModel CraftedModel::open_hugging_face(const std::string& folder, const nlohmann::json& config) const {
  nlohmann::json all = {{"hidden_size", sizes.d_model},       {"intermediate_size", sizes.d_ff},
                        {"num_attention_heads", sizes.heads}, {"num_key_value_heads", sizes.kv_heads},
                        {"head_dim", sizes.head_size},        {"num_hidden_layers", sizes.layers},
                        {"vocab_size", sizes.vocab},          {"max_position_embeddings", 131072},
                        {"rms_norm_eps", norm_eps},           {"rope_theta", rope_base},
                        {"tie_word_embeddings", sizes.tied}};
  all.update(config);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << all.dump();
  std::vector<SafetensorsTensor> out;
  const bool norms_after = tensors.contains("blk.0.post_ffw_norm.weight");
  for (const auto& [name, t] : tensors) out.push_back({hugging_face_name(name, norms_after), "F32", t.shape, t.bytes});
  if (const Status written = write_safetensors(folder + "/model.safetensors", out); !written)
    throw std::runtime_error(written.error().what);
  return open(folder);
}

CraftedModel uniform_probe(RandomModel sizes) {
  sizes.layers = 1;
  CraftedModel m(sizes);
  for (auto& [name, t] : m.tensors) m.fill(name, name.find("norm") == std::string::npos ? 0 : 1);
  for (int64_t id = 0; id < sizes.vocab; ++id) {
    const double x = double(id) / double(sizes.vocab);
    m.at("token_embd.weight", id, 0) = float(x);
    m.at("token_embd.weight", id, 1) = float(std::sqrt(1 - x * x));
    m.at("token_embd.weight", id, 2) = 1;
  }
  for (int64_t h = 0; h < sizes.kv_heads; ++h) {
    m.at("blk.0.attn_v.weight", h * sizes.head_size, 0) = 1;
    m.at("blk.0.attn_v.weight", h * sizes.head_size + 1, 2) = 1;
  }
  for (int64_t h = 0; h < sizes.heads; ++h)
    for (int64_t i : {0, 1}) m.at("blk.0.attn_output.weight", 3 + i, h * sizes.head_size + i) = 1 / float(sizes.heads);
  for (int64_t i : {0, 1}) m.at("output.weight", i, 3 + i) = 1;
  return m;
}

double probed_mean(std::span<const float> logits) { return double(logits.size()) * logits[0] / logits[1]; }

}  // namespace shardwise
