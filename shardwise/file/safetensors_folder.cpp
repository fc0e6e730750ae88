// A model folder: config.json, and model.safetensors or the shards that model.safetensors.index.json lists. The shards
// must hold exactly the tensors that the index gives them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "shardwise/file/json_text.h"
#include "shardwise/file/model_parts.h"

namespace shardwise {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
constexpr size_t kMaxConfigBytes = size_t{4} << 20;
constexpr size_t kMaxIndexBytes = size_t{64} << 20;
constexpr std::string_view kWeights = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string path_if_there(const fs::path& path) { return is_file(path) ? path.string() : std::string(); }

// Up to three files with weights in a folder, to say in an error what could have been meant.
std::string weights_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string extension = it->path().extension().string();
    if (extension == ".gguf" || extension == ".safetensors") names.push_back(in_quotes(it->path().filename().string()));
  }
  std::sort(names.begin(), names.end());
  if (names.size() > 3) names.resize(3);
  return names.empty() ? "" : fmt::format("; it holds {}: give the path of such a file", fmt::join(names, ", "));
}

class FolderOpener {
 public:
  FolderOpener(const fs::path& path, FileScope scope) : scope_(scope) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      folder_ = path;
    } else {
      file_ = path;
      folder_ = path.has_parent_path() ? path.parent_path() : fs::path(".");
    }
  }

  Result<ModelParts> open() {
    if (Status s = read_config(); !s) return s.error();
    const bool config_only = file_.extension() == ".json";
    if (!file_.empty() && !config_only) {
      if (Status s = open_file(); !s) return s.error();
    } else if (is_file(folder_ / kWeights)) {
      if (Status s = add_shard(folder_ / kWeights, nullptr); !s) return s.error();
    } else if (is_file(folder_ / kIndex)) {
      if (Status s = open_index(); !s) return s.error();
    } else if (scope_ == FileScope::Whole) {
      return fail("{}: has config.json but neither {} nor {}{}", in_quotes(folder_.string()), kWeights, kIndex,
                  weights_in(folder_));
    }
    return std::move(out_);
  }

 private:
  Status read_config() {
    const fs::path path = folder_ / "config.json";
    if (!is_file(path)) {
      if (!file_.empty()) return fail("{}: config.json does not lie beside it", in_quotes(file_.string()));
      return fail("{}: has no config.json{}", in_quotes(folder_.string()), weights_in(folder_));
    }
    auto text = Mapping::open(path.string());
    if (!text) return text.error();
    auto config = parse_json_object(path.string(), text->bytes(), kMaxConfigBytes);
    if (!config) return config.error();
    out_.config_text.assign(reinterpret_cast<const char*>(text->bytes().data()), text->bytes().size());
    out_.config = std::make_shared<const Json>(*std::move(config));
    out_.folder = {path.string(), path_if_there(folder_ / "tokenizer.json"),
                   path_if_there(folder_ / "tokenizer_config.json"), path_if_there(folder_ / "generation_config.json")};
    return {};
  }

  // One .safetensors file by its own path: all of the model, unless an index beside it says otherwise.
  Status open_file() {
    if (file_.filename() != kWeights && is_file(folder_ / kIndex)) {
      const auto shards = read_index();
      if (!shards) return shards.error();
      if (shards->contains(file_.filename().string()))
        return fail("{}: is one of {} shards; give the folder {}", in_quotes(file_.string()), shards->size(),
                    in_quotes(folder_.string()));
    }
    return add_shard(file_, nullptr);
  }

  using Names = std::unordered_set<std::string>;
  using Shards = std::map<std::string, Names>;  // file name -> the tensors that must be in it

  Result<Shards> read_index() const {
    const std::string path = (folder_ / kIndex).string();
    const auto text = Mapping::open(path);
    if (!text) return text.error();
    const auto index = parse_json_object(path, text->bytes(), kMaxIndexBytes);
    if (!index) return index.error();
    const auto weights = index->find("weight_map");
    if (weights == index->end() || !weights->is_object() || weights->empty())
      return fail("{}: has no weight_map that lists tensors", in_quotes(path));
    Shards shards;
    for (const auto& [name, shard] : weights->items()) {
      if (!shard.is_string()) return fail("{}: tensor {} is given no file name", in_quotes(path), in_quotes(name));
      const auto& file = shard.get_ref<const std::string&>();
      if (file.empty() || file.find('/') != std::string::npos || file.find('\0') != std::string::npos || file == "..")
        return fail("{}: tensor {} is given the file {}, expected the plain name of a file in the same folder",
                    in_quotes(path), in_quotes(name), in_quotes(file));
      shards[file].insert(name);
    }
    return shards;
  }

  Status open_index() {
    const auto shards = read_index();
    if (!shards) return shards.error();
    for (const auto& [file, names] : *shards) {
      if (!is_file(folder_ / file))
        return fail("{}: the shard {} with {} tensors is missing; fetch it", in_quotes((folder_ / kIndex).string()),
                    in_quotes(file), names.size());
      if (Status s = add_shard(folder_ / file, &names); !s) return s;
    }
    return {};
  }

  // `expected`: the names that the index gives this shard, or null for a file that is a whole model.
  Status add_shard(const fs::path& path, const Names* expected) {
    auto file = Mapping::open(path.string());
    if (!file) return file.error();
    auto header = parse_safetensors(path.string(), file->bytes(), scope_);
    if (!header) return header.error();
    if (expected)
      if (Status s = check_names(path, *header, *expected); !s) return s;
    if (out_.parts.empty()) out_.metadata = std::move(header->metadata);
    out_.parts.push_back({*std::move(file), header->bytes});
    std::move(header->tensors.begin(), header->tensors.end(), std::back_inserter(out_.tensors));
    std::move(header->opaque.begin(), header->opaque.end(), std::back_inserter(out_.opaque));
    return {};
  }

  static Status check_names(const fs::path& path, const SafetensorsHeader& header, const Names& expected) {
    Names missing = expected;
    const auto strike = [&](const std::string& name) -> Status {
      if (missing.erase(name) == 1) return {};
      return fail("{}: holds tensor {}, which {} does not give it", in_quotes(path.string()), in_quotes(name), kIndex);
    };
    for (const TensorInfo& tensor : header.tensors)
      if (Status s = strike(tensor.name); !s) return s;
    for (const OpaqueTensor& tensor : header.opaque)
      if (Status s = strike(tensor.name); !s) return s;
    if (missing.empty()) return {};
    return fail("{}: lacks tensor {} (of {} missing), which {} gives it", in_quotes(path.string()),
                in_quotes(*std::min_element(missing.begin(), missing.end())), missing.size(), kIndex);
  }

  fs::path folder_;
  fs::path file_;  // empty when a folder was given
  FileScope scope_;
  ModelParts out_;
};

}  // namespace

Result<ModelParts> open_safetensors(const std::string& path, FileScope scope) {
  try {
    return FolderOpener(path, scope).open();
  } catch (const std::exception& e) {
    return fail("{}: cannot be opened: {}", in_quotes(path), e.what());
  }
}

}  // namespace shardwise
