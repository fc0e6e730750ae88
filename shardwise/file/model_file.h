// A model on disk, opened: its metadata and where each tensor's bytes lie. Nothing is loaded by opening; weights are
// read through the mapped pages that a rank touches. All of a file's claims are checked before open() returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/file/metadata.h"
#include "shardwise/file/model_parts.h"
#include "shardwise/file/tensor_info.h"

namespace shardwise {

class ModelFile {
 public:
  enum class Format { Gguf, Safetensors };

  // `path`: a .gguf (of a split model, its first part), a folder with config.json and safetensors, or a .safetensors
  // beside a config.json. Errors: all that is wrong with the files, in one sentence that names file and field.
  static Result<ModelFile> open(const std::string& path);

  // For planning: the same, but tensors' bytes may be absent (a header cut from a file, a config.json alone, in which
  // case there are no tensors). TensorInfo::data is null throughout.
  static Result<ModelFile> open_header(const std::string& path);

  Format format() const { return format_; }
  const Metadata& metadata() const { return parts_.metadata; }
  std::span<const TensorInfo> tensors() const { return parts_.tensors; }  // in file order
  const TensorInfo* tensor(std::string_view name) const;                  // null when absent or not usable as a weight
  Result<const TensorInfo*> require_tensor(std::string_view name) const;  // the error says which of both
  // Why a tensor that is in the file cannot serve as a weight ("has type I64"); nothing for all others.
  std::optional<std::string> unsupported(std::string_view name) const;
  std::span<const OpaqueTensor> unsupported() const { return parts_.opaque; }

  const std::vector<std::string>& paths() const { return paths_; }  // of the files with tensors
  int64_t file_bytes() const;                                       // of those files together

  // Of safetensors; for GGUF a JSON null, an empty text and empty paths.
  const nlohmann::json& config() const;
  std::string_view config_text() const { return parts_.config_text; }
  const ModelFolder& folder() const { return parts_.folder; }

  // The stored bytes of one row of columns(tensor) elements; 0 <= row < rows(tensor).
  const std::byte* row(const TensorInfo& tensor, int64_t row) const;
  static int64_t row_bytes(const TensorInfo&);

  // Hints on bytes of this model's files (a tensor's rows, say): read them ahead in the background; drop their pages,
  // as after packing. A file has no read-ahead of its own, so prefetch what is about to be read in sequence.
  Status prefetch(std::span<const std::byte>) const;
  Status release(std::span<const std::byte>) const;

  // To be asked before and after reading weights: a file that was cut short or written to meanwhile is an error. Pages
  // lost in between read as zeros, so weights may be used only when this says that all is well.
  Status verify_unchanged() const;

  // Tells models apart, on any machine, whatever the files are called: their sizes, all of their headers (config.json
  // too) and 64 pages of 4 KiB spread evenly over each file. Not cryptographic; changes between the pages go unseen.
  Result<uint64_t> fingerprint() const;

 private:
  ModelFile(Format, ModelParts);
  static Result<ModelFile> open(const std::string& path, FileScope);
  const Mapping& owner(std::span<const std::byte>) const;

  Format format_;
  ModelParts parts_;
  std::vector<std::string> paths_;
  std::unordered_map<std::string_view, size_t> index_;  // views of the names in parts_.tensors, which never changes
};

}  // namespace shardwise
