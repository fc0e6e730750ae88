// The files that make up one model, opened and checked against one another; ModelFile is its face.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/file/mapping.h"
#include "shardwise/file/metadata.h"
#include "shardwise/file/safetensors.h"
#include "shardwise/file/tensor_info.h"

namespace shardwise {

struct ModelPart {
  Mapping file;
  uint64_t header_bytes = 0;
};

// Files of a model folder that others read; an empty path where there is none.
struct ModelFolder {
  std::string config;             // config.json
  std::string tokenizer;          // tokenizer.json
  std::string tokenizer_config;   // tokenizer_config.json
  std::string generation_config;  // generation_config.json
};

struct ModelParts {
  std::vector<ModelPart> parts;  // the files with tensors, in their order
  Metadata metadata;             // of the first part
  std::vector<TensorInfo> tensors;
  std::vector<OpaqueTensor> opaque;
  ModelFolder folder;
  std::string config_text;
  std::shared_ptr<const nlohmann::json> config;  // null for GGUF
};

// `first` is the mapped file at the path that was given.
Result<ModelParts> open_gguf(Mapping first, FileScope);
// `path`: a folder with config.json, or a .safetensors file beside one. With FileScope::HeaderOnly also a config.json,
// and a folder without weights.
Result<ModelParts> open_safetensors(const std::string& path, FileScope);

}  // namespace shardwise
