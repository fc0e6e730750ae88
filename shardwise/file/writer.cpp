// The layouts of GGUF version 3 and safetensors, written in one go.
#include "shardwise/file/writer.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "shardwise/base/check.h"
#include "shardwise/file/gguf.h"

namespace shardwise {
namespace {

constexpr uint64_t kAlignment = 32;

uint64_t padded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t elements(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t dim : shape) product *= dim;
  return product;
}

Status finish(std::ofstream& out, const std::string& path) {
  out.close();
  if (!out) return fail("{}: cannot be written: {}", in_quotes(path), std::strerror(errno));
  return {};
}

}  // namespace

void GgufWriter::append_text(std::string& out, std::string_view text) {
  const uint64_t length = text.size();
  append(out, &length, sizeof length);
  out.append(text);
}

void GgufWriter::begin_pair(std::string_view key, MetaType type) {
  ++pair_count_;
  append_text(pairs_, key);
  const auto id = uint32_t(type);
  append(pairs_, &id, sizeof id);
}

void GgufWriter::begin_array(std::string_view key, MetaType element, uint64_t count) {
  begin_pair(key, MetaType::Array);
  const auto id = uint32_t(element);
  append(pairs_, &id, sizeof id);
  append(pairs_, &count, sizeof count);
}

void GgufWriter::set(std::string_view key, std::string_view text) {
  begin_pair(key, MetaType::Text);
  append_text(pairs_, text);
}

void GgufWriter::set(std::string_view key, const std::vector<std::string>& texts) {
  begin_array(key, MetaType::Text, texts.size());
  for (const std::string& text : texts) append_text(pairs_, text);
}

void GgufWriter::tensor(std::string_view name, DType dtype, std::span<const int64_t> shape,
                        std::span<const std::byte> bytes) {
  CHECK(int64_t(bytes.size()) == storage_bytes(dtype, elements(shape)), "tensor '{}': {} bytes for {} elements of {}",
        name, bytes.size(), elements(shape), info(dtype).name);
  tensors_.push_back({std::string(name), dtype, {shape.begin(), shape.end()}, {bytes.begin(), bytes.end()}});
}

void GgufWriter::tensor(std::string_view name, std::span<const int64_t> shape, std::span<const float> values) {
  tensor(name, DType::F32, shape, std::as_bytes(values));
}

Status GgufWriter::write_part(const std::string& path, uint64_t pair_count, std::string_view pairs,
                              std::span<const Tensor> tensors) {
  std::string header = "GGUF";
  const uint32_t version = 3;
  const uint64_t tensor_count = tensors.size();
  append(header, &version, sizeof version);
  append(header, &tensor_count, sizeof tensor_count);
  append(header, &pair_count, sizeof pair_count);
  header.append(pairs);
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    append_text(header, tensor.name);
    const auto dims = uint32_t(tensor.shape.size());
    append(header, &dims, sizeof dims);
    for (auto dim = tensor.shape.rbegin(); dim != tensor.shape.rend(); ++dim) append(header, &*dim, sizeof *dim);
    const uint32_t type = ggml_type_id(tensor.dtype);
    append(header, &type, sizeof type);
    append(header, &offset, sizeof offset);
    offset += padded(tensor.bytes.size());
  }
  header.resize(padded(header.size()));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(header.data(), std::streamsize(header.size()));
  for (const Tensor& tensor : tensors) {
    constexpr char kZeros[kAlignment] = {};
    out.write(reinterpret_cast<const char*>(tensor.bytes.data()), std::streamsize(tensor.bytes.size()));
    out.write(kZeros, std::streamsize(padded(tensor.bytes.size()) - tensor.bytes.size()));
  }
  return finish(out, path);
}

Status GgufWriter::write(const std::string& path) const { return write_part(path, pair_count_, pairs_, tensors_); }

Result<std::vector<std::string>> GgufWriter::write_split(const std::string& prefix, int parts) const {
  CHECK(parts >= 1 && parts <= 65535, "{} parts", parts);
  std::vector<std::string> paths;
  for (int i = 0; i < parts; ++i) {
    GgufWriter split;
    split.set("split.no", uint16_t(i));
    split.set("split.count", uint16_t(parts));
    split.set("split.tensors.count", int32_t(tensors_.size()));
    const size_t first = tensors_.size() * size_t(i) / size_t(parts);
    const size_t last = tensors_.size() * size_t(i + 1) / size_t(parts);
    paths.push_back(fmt::format("{}-{:05d}-of-{:05d}.gguf", prefix, i + 1, parts));
    const std::string pairs = (i == 0 ? pairs_ : std::string()) + split.pairs_;
    const uint64_t count = (i == 0 ? pair_count_ : 0) + split.pair_count_;
    if (Status s = write_part(paths.back(), count, pairs, std::span(tensors_).subspan(first, last - first)); !s)
      return s.error();
  }
  return paths;
}

SafetensorsTensor f32_tensor(std::string name, std::vector<int64_t> shape, std::span<const float> values) {
  CHECK(int64_t(values.size()) == elements(shape), "tensor '{}': {} values", name, values.size());
  const auto bytes = std::as_bytes(values);
  return {std::move(name), "F32", std::move(shape), {bytes.begin(), bytes.end()}};
}

Status write_safetensors(const std::string& path, std::span<const SafetensorsTensor> tensors) {
  auto header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const uint64_t end = offset + tensor.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out.write(text.data(), std::streamsize(text.size()));
  for (const SafetensorsTensor& tensor : tensors)
    out.write(reinterpret_cast<const char*>(tensor.bytes.data()), std::streamsize(tensor.bytes.size()));
  return finish(out, path);
}

}  // namespace shardwise
