// ModelSpec from the metadata of a GGUF file.
#include <cmath>

#include "shardwise/model/families.h"
#include "shardwise/model/readers.h"
#include "shardwise/model/rotary.h"

namespace shardwise {
namespace {

class GgufSpec {
 public:
  GgufSpec(const ModelFile& file, const Family& family) : file_(file), meta_(file.metadata()), family_(family) {
    spec_.architecture = family.gguf;
  }

  Result<ModelSpec> run() {
    if (Status s = sizes(); !s) return s.error();
    if (Status s = check_sizes(path(), spec_); !s) return s.error();
    if (Status s = refuse_unknown(); !s) return s.error();
    std::vector<LayerNames> names;
    for (int i = 0; i < spec_.layers; ++i) names.push_back(gguf_names(i));
    const bool tied = file_.tensor("output.weight") == nullptr;
    if (Status s = bind_tensors(file_, family_, names, "token_embd.weight", "output_norm.weight", "output.weight", tied,
                                spec_);
        !s)
      return s.error();
    if (Status s = rotary(); !s) return s.error();
    windows();
    return std::move(spec_);
  }

 private:
  std::string key(std::string_view k) const { return fmt::format("{}.{}", family_.gguf, k); }
  std::string path() const { return file_.paths().front(); }

  Status sizes() {
    ModelSpec& m = spec_;
    m.name = meta_.text("general.name").value_or("");
    for (const auto& [name, to] : {std::pair<std::string_view, int64_t*>{"embedding_length", &m.d_model},
                                   {"feed_forward_length", &m.d_ff},
                                   {"attention.head_count", &m.heads}}) {
      const auto n = meta_.require_integer(key(name));
      if (!n) return n.error();
      *to = *n;
    }
    const auto layers = meta_.require_integer(key("block_count"));
    if (!layers) return layers.error();
    m.layers = int(std::min<int64_t>(*layers, 1 << 30));
    m.kv_heads = meta_.integer(key("attention.head_count_kv")).value_or(m.heads);
    m.head_size = meta_.integer(key("attention.key_length")).value_or(m.heads > 0 ? m.d_model / m.heads : 0);
    if (const int64_t v = meta_.integer(key("attention.value_length")).value_or(m.head_size); v != m.head_size)
      return fail("{}: keys of {} and values of {} elements a head; both must have one size", path(), m.head_size, v);
    const TensorInfo* embedding = file_.tensor("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2)
      return fail("{}: tensor token_embd.weight is missing or is not a matrix", path());
    m.vocab = embedding->shape[0];
    m.context = meta_.integer(key("context_length")).value_or(0);
    const auto eps = meta_.require_number(key("attention.layer_norm_rms_epsilon"));
    if (!eps) return eps.error();
    m.norm_eps = float(*eps);
    m.activation = family_.activation;
    m.interleaved = family_.interleaved_gguf;
    if (family_.scales_embedding) m.embedding_scale = float(std::sqrt(double(m.d_model)));
    m.attention_scale = float(meta_.number(key("attention.scale")).value_or(default_attention_scale()));
    return {};
  }

  // Gemma 3 27B alone scales queries by its width a head; its file does not say so.
  double default_attention_scale() const {
    const bool by_width = family_.gguf == "gemma3" && spec_.layers == 62 && spec_.heads > 0;
    return 1 / std::sqrt(double(by_width ? spec_.d_model / spec_.heads : spec_.head_size));
  }

  Status refuse_unknown() const {
    if (meta_.integer(key("expert_count")).value_or(0) > 0)
      return fail("{}: the model routes tokens to experts, which is not supported; use a dense model", path());
    for (std::string_view k : {"attn_logit_softcapping", "final_logit_softcapping", "logit_scale", "residual_scale",
                               "attention.max_alibi_bias"})
      if (meta_.number(key(k)).value_or(0) != 0)
        return fail("{}: {} is set, which is not supported for {} models", path(), key(k), family_.gguf);
    for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"})
      if (file_.tensor(name) != nullptr)
        return fail("{}: rotary scaling 'longrope' is not known; known are none, linear, llama3 and yarn", path());
    return {};
  }

  Status rotary() {
    RotaryScaling s;
    const auto kind = rotary_scaling_named(meta_.text(key("rope.scaling.type")).value_or("none"));
    if (!kind) return fail("{}: {}", path(), kind.error().what);
    s.kind = *kind;
    s.factor = meta_.number(key("rope.scaling.factor")).value_or(1);
    if (s.kind == RotaryScaling::Kind::None && s.factor != 1) s.kind = RotaryScaling::Kind::Linear;
    s.original_context = meta_.number(key("rope.scaling.original_context_length")).value_or(double(spec_.context));
    s.beta_fast = meta_.number(key("rope.scaling.yarn_beta_fast")).value_or(32);
    s.beta_slow = meta_.number(key("rope.scaling.yarn_beta_slow")).value_or(1);
    if (s.kind != RotaryScaling::Kind::None && !(s.factor > 0))
      return fail("{}: {} is {}, expected more than 0", path(), key("rope.scaling.factor"), s.factor);
    const auto attn_factor = meta_.number(key("rope.scaling.attn_factor"));
    if (attn_factor) s.magnitude = *attn_factor * (0.1 * std::log(s.factor) + 1);
    const double base = meta_.number(key("rope.freq_base")).value_or(10000);
    if (!(base > 0)) return fail("{}: {} is {}, expected more than 0", path(), key("rope.freq_base"), base);
    const int64_t rotated = meta_.integer(key("rope.dimension_count")).value_or(spec_.head_size);
    if (rotated < 2 || rotated % 2 != 0 || rotated > spec_.head_size)
      return fail("{}: {} is {}, expected an even number up to the head size {}", path(), key("rope.dimension_count"),
                  rotated, spec_.head_size);
    std::vector<float> divisors;
    if (const TensorInfo* t = file_.tensor("rope_freqs.weight")) {
      if (t->dtype != DType::F32 || t->shape != std::vector<int64_t>{rotated / 2})
        return fail("{}: tensor rope_freqs.weight must be F32 with {} elements", path(), rotated / 2);
      divisors.resize(size_t(rotated / 2));
      dequantize(DType::F32, t->data, divisors);
    }
    spec_.tables.push_back(rotary_table(base, rotated, s, divisors));
    if (family_.local_base > 0) {
      const double local = meta_.number(key("rope.freq_base_swa")).value_or(family_.local_base);
      spec_.tables.push_back(rotary_table(local, rotated, {}, {}));
    }
    return {};
  }

  void windows() {
    const int64_t window = meta_.integer(key("attention.sliding_window")).value_or(0);
    const int64_t pattern = meta_.integer(key("attention.sliding_window_pattern")).value_or(family_.window_pattern);
    for (int i = 0; i < spec_.layers; ++i) {
      const bool local = window > 0 && (pattern == 0 || (i + 1) % pattern != 0);
      spec_.per_layer[size_t(i)].window = local ? window : 0;
      spec_.per_layer[size_t(i)].table = local && spec_.tables.size() > 1 ? 1 : 0;
    }
  }

  const ModelFile& file_;
  const Metadata& meta_;
  const Family& family_;
  ModelSpec spec_;
};

}  // namespace

Result<ModelSpec> read_gguf_spec(const ModelFile& file) {
  const auto architecture = file.metadata().require_text("general.architecture");
  if (!architecture) return architecture.error();
  const Family* family = family_of_gguf(*architecture);
  if (family == nullptr)
    return fail("{}: architecture {} is not known; known are {}", file.paths().front(), in_quotes(*architecture),
                known_families());
  return GgufSpec(file, *family).run();
}

}  // namespace shardwise
