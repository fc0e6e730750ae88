// inspect: what a model file says, without loading the weights.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/model.h"
#include "apps/terminal.h"

namespace shardwise {
namespace {

using Json = nlohmann::ordered_json;

struct InspectOptions {
  std::string model;
  bool json = false, tensors = false;
};

Json spec_json(const ModelSpec& m) {
  Json windows = Json::array();
  for (const LayerSpec& l : m.per_layer) windows.push_back(l.window);
  return {{"architecture", m.architecture},
          {"name", m.name},
          {"layers", m.layers},
          {"d_model", m.d_model},
          {"heads", m.heads},
          {"kv_heads", m.kv_heads},
          {"head_size", m.head_size},
          {"d_ff", m.d_ff},
          {"vocab", m.vocab},
          {"context", m.context},
          {"tied", m.tied()},
          {"qkv_bias", bool(m.per_layer[0].q_bias)},
          {"qk_norm", m.qk_norm == QkNorm::None   ? "none"
                      : m.qk_norm == QkNorm::Head ? "head"
                                                  : "full"},
          {"windows", std::move(windows)}};
}

// Single values as they are, of arrays the size and the type.
Json metadata_json(const MetaValue& value) {
  return std::visit(
      [&](const auto& v) -> Json {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, MetaArray>)
          return describe(value);
        else if constexpr (std::is_same_v<V, std::string_view>)
          return std::string(v);
        else
          return v;
      },
      value);
}

Status run(const InspectOptions& o) {
  const auto file = ModelFile::open(o.model);
  if (!file) return file.error();
  const auto spec = read_spec(*file);
  if (!spec) return spec.error();
  const auto chat = chat_template_text(*file);
  std::map<std::string, std::pair<int64_t, int64_t>> types;  // tensors and bytes by type
  int64_t bytes = 0;
  for (const TensorInfo& t : file->tensors()) {
    auto& [count, size] = types[std::string(info(t.dtype).name)];
    ++count, size += t.bytes, bytes += t.bytes;
  }
  if (o.json) {
    Json j{{"file_bytes", file->file_bytes()}, {"tensor_bytes", bytes}, {"spec", spec_json(*spec)}};
    for (const auto& [type, n] : types) j["types"][type] = {{"tensors", n.first}, {"bytes", n.second}};
    j["chat_template"] = chat ? Json(*chat) : Json(nullptr);
    for (const TensorInfo& t : file->tensors())
      j["tensors"].push_back({{"name", t.name}, {"type", info(t.dtype).name}, {"shape", t.shape}, {"bytes", t.bytes}});
    for (const auto& e : file->metadata().entries()) j["metadata"][std::string(e.key)] = metadata_json(e.value);
    std::cout << j.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    return {};
  }
  const ModelSpec& m = *spec;
  std::cout << fmt::format("{}: {} {}\n", o.model, m.architecture, m.name);
  std::cout << fmt::format(
      "{} layers, d_model {}, {} query heads, {} KV heads of {}, d_ff {}, vocabulary {}, context {}{}\n", m.layers,
      m.d_model, m.heads, m.kv_heads, m.head_size, m.d_ff, m.vocab, m.context,
      m.tied() ? ", output tied to the embedding" : "");
  std::cout << fmt::format("{} in {} tensors:", human_bytes(double(bytes)), file->tensors().size());
  for (const auto& [type, n] : types)
    std::cout << fmt::format(" {} {} ({})", n.first, type, human_bytes(double(n.second)));
  std::cout << "\n";
  for (const auto& e : file->metadata().entries()) std::cout << fmt::format("  {:<45} {}\n", e.key, describe(e.value));
  if (o.tensors)
    for (const TensorInfo& t : file->tensors())
      std::cout << fmt::format("  {:<45} {:<5} [{}]\n", t.name, info(t.dtype).name, fmt::join(t.shape, ", "));
  std::cout << (chat ? "chat template:\n" + *chat + "\n" : "no chat template\n");
  return {};
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto o = std::make_shared<InspectOptions>();
  CLI::App* c = app.add_subcommand("inspect", "what a model file says, without loading the weights");
  c->add_option("MODEL", o->model, "a .gguf (or its first part), or a folder with config.json and safetensors")
      ->required();
  c->add_flag("--tensors", o->tensors, "list every tensor");
  c->add_flag("--json", o->json, "one JSON object on stdout");
  c->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace shardwise
