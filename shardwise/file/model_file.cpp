// What kind of model lies at a path, and the questions that an open one answers.
#include "shardwise/file/model_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

// 64 bits over any number of byte ranges, 8 bytes at a time: multiply, rotate, and a final mix (that of splitmix64).
class Hash {
 public:
  void add(uint64_t word) { state_ = std::rotl((state_ ^ word) * 0x9e3779b97f4a7c15u, 29) + 0x632be59bd9b4e019u; }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at, 8);
      add(word);
    }
    uint64_t rest = 0;
    if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
    add(rest);
  }
  uint64_t value() const {
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

 private:
  uint64_t state_ = 0;
};

constexpr size_t kSamples = 64;
constexpr size_t kSampleBytes = 4096;

void add_part(Hash& hash, const ModelPart& part) {
  const auto bytes = part.file.bytes();
  hash.add(bytes.size());
  hash.add(bytes.first(std::min<size_t>(part.header_bytes, bytes.size())));
  const size_t length = std::min(kSampleBytes, bytes.size());
  for (size_t i = 0; i < kSamples; ++i)  // the last one ends with the file
    hash.add(bytes.subspan(
        (bytes.size() - length) / (kSamples - 1) * i + (bytes.size() - length) % (kSamples - 1) * i / (kSamples - 1),
        length));
}

}  // namespace

ModelFile::ModelFile(Format format, ModelParts parts) : format_(format), parts_(std::move(parts)) {
  for (const ModelPart& part : parts_.parts) {
    paths_.push_back(part.file.path());
    part.file.expect_random_access();
  }
  index_.reserve(parts_.tensors.size());
  for (size_t i = 0; i < parts_.tensors.size(); ++i) {
    const bool is_new = index_.emplace(parts_.tensors[i].name, i).second;
    CHECK(is_new, "tensor '{}' twice after the readers' checks", parts_.tensors[i].name);
  }
}

Result<ModelFile> ModelFile::open(const std::string& path) { return open(path, FileScope::Whole); }
Result<ModelFile> ModelFile::open_header(const std::string& path) { return open(path, FileScope::HeaderOnly); }

Result<ModelFile> ModelFile::open(const std::string& path, FileScope scope) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const bool json = !folder && path.ends_with(".json");
  if (json && scope == FileScope::Whole)
    return fail("{}: is only the description of a model; give the folder that holds it with the weights",
                in_quotes(path));
  Format format = Format::Safetensors;
  Result<ModelParts> parts = ModelParts();
  if (folder || json || path.ends_with(".safetensors")) {
    parts = open_safetensors(path, scope);
  } else {
    auto file = Mapping::open(path);
    if (!file) return file.error();
    format = Format::Gguf;
    parts = open_gguf(*std::move(file), scope);
  }
  if (!parts) return parts.error();
  ModelFile model(format, *std::move(parts));
  if (Status s = model.verify_unchanged(); !s) return s.error();  // what was checked must be what is there
  return model;
}

const TensorInfo* ModelFile::tensor(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &parts_.tensors[it->second];
}

Result<const TensorInfo*> ModelFile::require_tensor(std::string_view name) const {
  if (const TensorInfo* found = tensor(name)) return found;
  const std::string file = in_quotes(paths_.empty() ? parts_.folder.config : paths_.front());
  if (const auto why = unsupported(name))
    return fail("{}: tensor {} {} and cannot serve as a weight", file, in_quotes(name), *why);
  return fail("{}: tensor {} is missing; the model is incomplete or of an unknown form", file, in_quotes(name));
}

std::optional<std::string> ModelFile::unsupported(std::string_view name) const {
  for (const OpaqueTensor& opaque : parts_.opaque)
    if (opaque.name == name) return opaque.why;
  return std::nullopt;
}

int64_t ModelFile::file_bytes() const {
  int64_t sum = 0;
  for (const ModelPart& part : parts_.parts) sum += int64_t(part.file.bytes().size());
  return sum;
}

const nlohmann::json& ModelFile::config() const {
  static const nlohmann::json none;
  return parts_.config ? *parts_.config : none;
}

int64_t ModelFile::row_bytes(const TensorInfo& tensor) { return storage_bytes(tensor.dtype, columns(tensor)); }

const std::byte* ModelFile::row(const TensorInfo& tensor, int64_t row) const {
  CHECK(tensor.data != nullptr, "tensor '{}' of a model whose header alone was opened", tensor.name);
  CHECK(row >= 0 && row < rows(tensor), "row {} of tensor '{}', which has {}", row, tensor.name, rows(tensor));
  return tensor.data + row * row_bytes(tensor);
}

const Mapping& ModelFile::owner(std::span<const std::byte> bytes) const {
  for (const ModelPart& part : parts_.parts) {
    const auto all = part.file.bytes();
    if (bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size()) return part.file;
  }
  CHECK(false, "{} bytes that lie in none of the model's files", bytes.size());
  return parts_.parts.front().file;
}

Status ModelFile::prefetch(std::span<const std::byte> bytes) const { return owner(bytes).prefetch(bytes); }
Status ModelFile::release(std::span<const std::byte> bytes) const { return owner(bytes).release(bytes); }

Status ModelFile::verify_unchanged() const {
  for (const ModelPart& part : parts_.parts)
    if (Status s = part.file.verify_unchanged(); !s) return s;
  return {};
}

Result<uint64_t> ModelFile::fingerprint() const {
  Hash hash;
  for (const ModelPart& part : parts_.parts) add_part(hash, part);
  hash.add(std::as_bytes(std::span(parts_.config_text)));
  if (Status s = verify_unchanged(); !s) return s.error();
  return hash.value();
}

}  // namespace shardwise
