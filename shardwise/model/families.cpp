// The table of families, and the check of their tensors.
#include "shardwise/model/families.h"

#include <algorithm>
#include <cmath>

namespace shardwise {
namespace {

constexpr Family kFamilies[] = {
    {.gguf = "llama", .hugging_face = "llama", .interleaved_gguf = true},
    {.gguf = "llama", .hugging_face = "mistral", .interleaved_gguf = true},
    {.gguf = "qwen2", .hugging_face = "qwen2", .qkv_bias_required = true},
    {.gguf = "qwen3", .hugging_face = "qwen3"},
    {.gguf = "gemma3",
     .hugging_face = "gemma3_text",
     .activation = Activation::GeluTanh,
     .norm_offset_hugging_face = 1,
     .scales_embedding = true,
     .window_pattern = 6,
     .local_base = 10000,
     .post_norms = true},
    {.gguf = "phi3", .hugging_face = "phi3"},
    {.gguf = "olmo2", .hugging_face = "olmo2", .pre_norms = false, .post_norms = true},
};

// Looks tensors up by name and size; the first fault stays.
class Binder {
 public:
  Binder(const ModelFile& file, const ModelSpec& spec) : file_(file), spec_(spec) {}

  TensorRef matrix(const std::string& name, int64_t rows, int64_t cols, int64_t first_row = 0, int64_t all_rows = 0) {
    const TensorInfo* t = need(name);
    if (t == nullptr) return {};
    const int64_t expected = all_rows > 0 ? all_rows : rows;
    if (t->shape != std::vector<int64_t>{expected, cols})
      return wrong_shape(*t, fmt::format("[{}, {}]", expected, cols));
    return {name, t->dtype, first_row};
  }
  TensorRef vector(const std::string& name, int64_t size) {
    const TensorInfo* t = need(name);
    if (t == nullptr) return {};
    if (t->shape != std::vector<int64_t>{size}) return wrong_shape(*t, fmt::format("[{}]", size));
    if (is_quantised(t->dtype)) {
      fault(fail("{}: tensor {} is {}; a vector must be F32, F16 or BF16", path(), name, info(t->dtype).name));
      return {};
    }
    return {name, t->dtype, 0};
  }
  TensorRef vector_if_there(const std::string& name, int64_t size) {
    return file_.tensor(name) == nullptr ? TensorRef{} : vector(name, size);
  }
  bool has(const std::string& name) const { return file_.tensor(name) != nullptr; }
  int64_t size(const std::string& name) const {
    const TensorInfo* t = file_.tensor(name);
    return t == nullptr || t->shape.empty() ? 0 : t->shape[0];
  }
  void fault(Error e) {
    if (status_) status_ = std::move(e);
  }
  const Status& status() const { return status_; }
  std::string path() const { return file_.paths().empty() ? "" : file_.paths().front(); }

 private:
  const TensorInfo* need(const std::string& name) {
    const TensorInfo* t = file_.tensor(name);
    if (t == nullptr)
      fault(fail("{}: tensor {} is missing, which a {} model of {} layers needs; the file is incomplete", path(), name,
                 spec_.architecture, spec_.layers));
    return t;
  }
  TensorRef wrong_shape(const TensorInfo& t, const std::string& expected) {
    fault(fail("{}: tensor {} has shape [{}], expected {} from the sizes in the metadata", path(), t.name,
               fmt::join(t.shape, ", "), expected));
    return {};
  }

  const ModelFile& file_;
  const ModelSpec& spec_;
  Status status_;
};

void bind_attention(Binder& b, const LayerNames& n, const Family& f, ModelSpec& m, LayerSpec& l) {
  const int64_t q = m.heads * m.head_size, kv = m.kv_heads * m.head_size;
  auto weight = [&](std::string_view part) { return n.prefix + std::string(part) + ".weight"; };
  auto bias = [&](std::string_view part, int64_t size) {
    return b.vector_if_there(n.prefix + std::string(part) + ".bias", size);
  };
  if (f.pre_norms) l.attn_norm = b.vector(weight(n.attn_norm), m.d_model);
  if (b.has(weight(n.qkv))) {
    const std::string fused = weight(n.qkv);
    l.q = b.matrix(fused, q, m.d_model, 0, q + 2 * kv);
    l.k = b.matrix(fused, kv, m.d_model, q, q + 2 * kv);
    l.v = b.matrix(fused, kv, m.d_model, q + kv, q + 2 * kv);
    if (b.has(n.prefix + std::string(n.qkv) + ".bias"))
      b.fault(fail("{}: {}{}.bias: a bias of fused q, k and v is not supported", b.path(), n.prefix, n.qkv));
  } else {
    l.q = b.matrix(weight(n.q), q, m.d_model), l.k = b.matrix(weight(n.k), kv, m.d_model),
    l.v = b.matrix(weight(n.v), kv, m.d_model);
    l.q_bias = bias(n.q, q), l.k_bias = bias(n.k, kv), l.v_bias = bias(n.v, kv);
    if (f.qkv_bias_required && !(l.q_bias && l.k_bias && l.v_bias))
      b.fault(fail("{}: {} lacks the biases of q, k and v that {} models have; the file is incomplete", b.path(),
                   n.prefix, m.architecture));
  }
  l.o = b.matrix(weight(n.o), m.d_model, q);
  l.o_bias = bias(n.o, m.d_model);
  if (b.has(weight(n.q_norm))) {
    m.qk_norm = b.size(weight(n.q_norm)) == m.head_size && m.heads > 1 ? QkNorm::Head : QkNorm::Full;
    const bool full = m.qk_norm == QkNorm::Full;
    l.q_norm = b.vector(weight(n.q_norm), full ? q : m.head_size);
    l.k_norm = b.vector(weight(n.k_norm), full ? kv : m.head_size);
  }
  if (f.post_norms) l.post_attn_norm = b.vector(weight(n.post_attn_norm), m.d_model);
}

void bind_ffn(Binder& b, const LayerNames& n, const Family& f, const ModelSpec& m, LayerSpec& l) {
  auto weight = [&](std::string_view part) { return n.prefix + std::string(part) + ".weight"; };
  auto bias = [&](std::string_view part, int64_t size) {
    return b.vector_if_there(n.prefix + std::string(part) + ".bias", size);
  };
  if (f.pre_norms || !f.post_norms) l.ffn_norm = b.vector(weight(n.ffn_norm), m.d_model);
  const std::string fused = weight(n.gate_up);
  if (!b.has(weight(n.gate)) && b.size(fused) == 2 * m.d_ff) {
    l.gate = b.matrix(fused, m.d_ff, m.d_model, 0, 2 * m.d_ff);
    l.up = b.matrix(fused, m.d_ff, m.d_model, m.d_ff, 2 * m.d_ff);
  } else {
    l.gate = b.matrix(weight(n.gate), m.d_ff, m.d_model), l.up = b.matrix(weight(n.up), m.d_ff, m.d_model);
    l.gate_bias = bias(n.gate, m.d_ff), l.up_bias = bias(n.up, m.d_ff);
  }
  l.down = b.matrix(weight(n.down), m.d_model, m.d_ff);
  l.down_bias = bias(n.down, m.d_model);
  if (f.post_norms) l.post_ffn_norm = b.vector(weight(n.post_ffn_norm), m.d_model);
}

}  // namespace

const Family* family_of_gguf(std::string_view architecture) {
  const auto* f =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& x) { return x.gguf == architecture; });
  return f == std::end(kFamilies) ? nullptr : f;
}

const Family* family_of_hugging_face(std::string_view type) {
  const auto* f =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& x) { return x.hugging_face == type; });
  return f == std::end(kFamilies) ? nullptr : f;
}

std::string known_families() {
  std::string all;
  for (const Family& f : kFamilies)
    if (all.find(f.gguf) == std::string::npos) all += (all.empty() ? "" : ", ") + std::string(f.gguf);
  return all;
}

LayerNames gguf_names(int layer) {
  return {.prefix = fmt::format("blk.{}.", layer),
          .attn_norm = "attn_norm",
          .q = "attn_q",
          .k = "attn_k",
          .v = "attn_v",
          .qkv = "attn_qkv",
          .o = "attn_output",
          .q_norm = "attn_q_norm",
          .k_norm = "attn_k_norm",
          .post_attn_norm = "post_attention_norm",
          .ffn_norm = "ffn_norm",
          .gate = "ffn_gate",
          .up = "ffn_up",
          .gate_up = "ffn_up",
          .down = "ffn_down",
          .post_ffn_norm = "post_ffw_norm"};
}

LayerNames hugging_face_names(const Family& f, std::string_view prefix, int layer) {
  // What stands before the FFN is called after the attention that it follows, except where both sides have norms.
  return {.prefix = fmt::format("{}layers.{}.", prefix, layer),
          .attn_norm = "input_layernorm",
          .q = "self_attn.q_proj",
          .k = "self_attn.k_proj",
          .v = "self_attn.v_proj",
          .qkv = "self_attn.qkv_proj",
          .o = "self_attn.o_proj",
          .q_norm = "self_attn.q_norm",
          .k_norm = "self_attn.k_norm",
          .post_attn_norm = "post_attention_layernorm",
          .ffn_norm = f.post_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm",
          .gate = "mlp.gate_proj",
          .up = "mlp.up_proj",
          .gate_up = "mlp.gate_up_proj",
          .down = "mlp.down_proj",
          .post_ffn_norm = "post_feedforward_layernorm"};
}

Status bind_tensors(const ModelFile& file, const Family& f, const std::vector<LayerNames>& names,
                    std::string_view embedding, std::string_view output_norm, std::string_view output, bool tied,
                    ModelSpec& m) {
  Binder b(file, m);
  m.embedding = b.matrix(std::string(embedding), m.vocab, m.d_model);
  m.output_norm = b.vector(std::string(output_norm), m.d_model);
  m.output = tied ? m.embedding : b.matrix(std::string(output), m.vocab, m.d_model);
  m.per_layer.resize(names.size());
  for (size_t i = 0; i < names.size() && b.status(); ++i) {
    bind_attention(b, names[i], f, m, m.per_layer[i]);
    bind_ffn(b, names[i], f, m, m.per_layer[i]);
  }
  return b.status();
}

Status check_sizes(const std::string& file, const ModelSpec& m) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const std::pair<const char*, int64_t> sizes[] = {
      {"layers", m.layers},       {"embedding length", m.d_model}, {"heads", m.heads},     {"KV heads", m.kv_heads},
      {"head size", m.head_size}, {"feed-forward length", m.d_ff}, {"vocabulary", m.vocab}};
  for (const auto& [what, n] : sizes)
    if (n < 1 || n >= kMost) return fail("{}: the number of {} is {}, expected 1 to {}", file, what, n, kMost - 1);
  if (m.layers > 10000) return fail("{}: {} layers, expected at most 10000", file, m.layers);
  if (m.heads % m.kv_heads != 0)
    return fail("{}: {} query heads do not share {} KV heads evenly", file, m.heads, m.kv_heads);
  if (m.head_size % 2 != 0 || m.head_size > 1024)
    return fail("{}: head size {}, expected an even number up to 1024", file, m.head_size);
  if (!(m.norm_eps >= 0 && m.norm_eps < 1)) return fail("{}: norm epsilon {}, expected 0 to 1", file, m.norm_eps);
  return {};
}

}  // namespace shardwise
