// ModelSpec from the config.json beside safetensors.
#include <cmath>
#include <nlohmann/json.hpp>

#include "shardwise/model/families.h"
#include "shardwise/model/readers.h"
#include "shardwise/model/rotary.h"

namespace shardwise {
namespace {

using Json = nlohmann::json;

class HuggingFaceSpec {
 public:
  HuggingFaceSpec(const ModelFile& file, const Json& config, const Family& family)
      : file_(file), config_(config), family_(family) {
    spec_.architecture = family.gguf;
  }

  Result<ModelSpec> run() {
    if (Status s = sizes(); !s) return s.error();
    if (Status s = check_sizes(path(), spec_); !s) return s.error();
    if (number("num_local_experts", 0) > 0 || number("num_experts", 0) > 0)
      return fail("{}: the model routes tokens to experts, which is not supported; use a dense model", path());
    if (Status s = rotary(); !s) return s.error();
    if (Status s = tensors(); !s) return s.error();
    if (Status s = windows(); !s) return s.error();
    return std::move(spec_);
  }

 private:
  std::string path() const {
    return file_.folder().config.empty() ? std::string("config.json") : file_.folder().config;
  }

  double number(const char* key, double otherwise) const {
    const auto it = config_.find(key);
    return it != config_.end() && it->is_number() ? it->get<double>() : otherwise;
  }
  Result<int64_t> size(const char* key, int64_t otherwise = 0) const {
    const auto it = config_.find(key);
    if ((it == config_.end() || it->is_null()) && otherwise > 0) return otherwise;
    if (it == config_.end() || !it->is_number_integer())
      return fail("{}: \"{}\" is missing or is not a whole number", path(), key);
    return it->get<int64_t>();
  }

  Status sizes() {
    ModelSpec& m = spec_;
    int64_t layers = 0;
    for (const auto& [key, to] : {std::pair<const char*, int64_t*>{"hidden_size", &m.d_model},
                                  {"intermediate_size", &m.d_ff},
                                  {"num_attention_heads", &m.heads},
                                  {"num_hidden_layers", &layers},
                                  {"vocab_size", &m.vocab}}) {
      const auto n = size(key);
      if (!n) return n.error();
      *to = *n;
    }
    m.layers = int(std::min<int64_t>(layers, 1 << 30));
    const auto kv = size("num_key_value_heads", m.heads);
    if (!kv) return kv.error();
    const auto head = size("head_dim", m.heads > 0 ? m.d_model / m.heads : 1);
    if (!head) return head.error();
    m.kv_heads = *kv, m.head_size = *head;
    m.context = int64_t(number("max_position_embeddings", 0));
    m.norm_eps = float(number("rms_norm_eps", 1e-6));
    m.activation = family_.activation;
    m.norm_offset = family_.norm_offset_hugging_face;
    if (family_.scales_embedding) m.embedding_scale = float(std::sqrt(double(m.d_model)));
    m.attention_scale = float(1 / std::sqrt(number("query_pre_attn_scalar", double(m.head_size))));
    return {};
  }

  // Newer files keep them under "rope_parameters", by kind of layer where these differ.
  Json rotary_fields(const char* kind) const {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
      const auto it = config_.find(key);
      if (it == config_.end() || !it->is_object()) continue;
      return it->contains(kind) && (*it)[kind].is_object() ? (*it)[kind] : *it;
    }
    return Json::object();
  }

  Result<RotaryTable> table(const char* kind, double base, int64_t rotated, bool scaled) const {
    const Json fields = rotary_fields(kind);
    auto field = [&](const char* key, double otherwise) {
      const auto it = fields.find(key);
      return it != fields.end() && it->is_number() ? it->get<double>() : otherwise;
    };
    RotaryScaling s;
    if (scaled) {
      std::string type = "none";
      for (const char* key : {"type", "rope_type"})
        if (fields.contains(key) && fields[key].is_string()) type = fields[key].get<std::string>();
      const auto known = rotary_scaling_named(type);
      if (!known) return fail("{}: {}", path(), known.error().what);
      s.kind = *known, s.factor = field("factor", 1);
      s.original_context =
          field("original_max_position_embeddings", number("original_max_position_embeddings", double(spec_.context)));
      s.low_factor = field("low_freq_factor", 1), s.high_factor = field("high_freq_factor", 4);
      s.beta_fast = field("beta_fast", 32), s.beta_slow = field("beta_slow", 1);
      if (fields.contains("attention_factor") && fields["attention_factor"].is_number())
        s.magnitude = fields["attention_factor"].get<double>();
      if (s.kind != RotaryScaling::Kind::None && !(s.factor > 0))
        return fail("{}: rotary scaling factor {}, expected more than 0", path(), s.factor);
    }
    base = field("rope_theta", base);
    if (!(base > 0)) return fail("{}: \"rope_theta\" is {}, expected more than 0", path(), base);
    return rotary_table(base, rotated, s, {});
  }

  Status rotary() {
    const int64_t rotated = int64_t(number("partial_rotary_factor", 1) * double(spec_.head_size));
    if (rotated < 2 || rotated % 2 != 0 || rotated > spec_.head_size)
      return fail("{}: {} of {} elements of a head are rotated", path(), rotated, spec_.head_size);
    const auto global = table("full_attention", number("rope_theta", 10000), rotated, true);
    if (!global) return global.error();
    spec_.tables.push_back(*global);
    if (family_.local_base > 0) {
      const Json fields = rotary_fields("sliding_attention");
      const bool own = config_.contains("rope_parameters") && config_["rope_parameters"].contains("sliding_attention");
      const double base = own && fields.contains("rope_theta") ? fields["rope_theta"].get<double>()
                                                               : number("rope_local_base_freq", family_.local_base);
      spec_.tables.push_back(rotary_table(base, rotated, {}, {}));
    }
    return {};
  }

  Status tensors() {
    const std::string prefix = file_.tensor("model.embed_tokens.weight") != nullptr ? "model." : "";
    std::vector<LayerNames> names;
    for (int i = 0; i < spec_.layers; ++i) names.push_back(hugging_face_names(family_, prefix, i));
    bool tied = family_.scales_embedding;
    if (const auto it = config_.find("tie_word_embeddings"); it != config_.end() && it->is_boolean())
      tied = it->get<bool>();
    return bind_tensors(file_, family_, names, prefix + "embed_tokens.weight", prefix + "norm.weight", "lm_head.weight",
                        tied, spec_);
  }

  Status windows() {
    const int64_t window = config_.value("use_sliding_window", true) ? int64_t(number("sliding_window", 0)) : 0;
    const int64_t pattern = int64_t(number("sliding_window_pattern", double(family_.window_pattern)));
    const auto types = config_.find("layer_types");
    const bool listed = types != config_.end() && types->is_array();
    if (listed && int(types->size()) != spec_.layers)
      return fail("{}: \"layer_types\" has {} entries for {} layers", path(), types->size(), spec_.layers);
    for (int i = 0; i < spec_.layers; ++i) {
      const bool local = listed ? (*types)[size_t(i)] == "sliding_attention" : pattern == 0 || (i + 1) % pattern != 0;
      LayerSpec& l = spec_.per_layer[size_t(i)];
      l.window = local ? window : 0;
      l.table = local && spec_.tables.size() > 1 ? 1 : 0;
    }
    return {};
  }

  const ModelFile& file_;
  const Json& config_;
  const Family& family_;
  ModelSpec spec_;
};

}  // namespace

Result<ModelSpec> read_hugging_face_spec(const ModelFile& file) {
  const Json& config = file.config();
  const std::string type = config.is_object() && config.contains("model_type") && config["model_type"].is_string()
                               ? config["model_type"].get<std::string>()
                               : "";
  const Family* family = family_of_hugging_face(type);
  if (family == nullptr)
    return fail("{}: model_type {} is not known; known are {}", file.folder().config, in_quotes(type),
                known_families());
  try {
    return HuggingFaceSpec(file, config, *family).run();
  } catch (const Json::exception& e) {
    return fail("{}: {}", file.folder().config, e.what());
  }
}

Result<ModelSpec> read_spec(const ModelFile& file) {
  return file.format() == ModelFile::Format::Gguf ? read_gguf_spec(file) : read_hugging_face_spec(file);
}

}  // namespace shardwise
