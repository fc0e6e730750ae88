// Writes small model files: for tests, and for tools that make models. The readers accept what is written here.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardwise/base/result.h"
#include "shardwise/file/metadata.h"
#include "shardwise/tensor/dtype.h"

namespace shardwise {

// The GGUF type of a C++ type.
template <class T>
constexpr MetaType meta_type_of() {
  if constexpr (std::same_as<T, bool>)
    return MetaType::Bool;
  else if constexpr (std::same_as<T, float>)
    return MetaType::F32;
  else if constexpr (std::same_as<T, double>)
    return MetaType::F64;
  else if constexpr (std::is_signed_v<T>)
    return sizeof(T) == 1   ? MetaType::I8
           : sizeof(T) == 2 ? MetaType::I16
           : sizeof(T) == 4 ? MetaType::I32
                            : MetaType::I64;
  else
    return sizeof(T) == 1   ? MetaType::U8
           : sizeof(T) == 2 ? MetaType::U16
           : sizeof(T) == 4 ? MetaType::U32
                            : MetaType::U64;
}

template <class T>
concept MetaNumber = std::integral<T> || std::same_as<T, float> || std::same_as<T, double>;

// GGUF version 3, alignment 32.
class GgufWriter {
 public:
  // The stored type follows from the C++ type: int32_t -> i32, uint32_t -> u32, float -> f32, bool -> bool ...
  template <MetaNumber T>
  void set(std::string_view key, T value) {
    begin_pair(key, meta_type_of<T>());
    append(pairs_, &value, sizeof value);
  }
  template <MetaNumber T>
  void set(std::string_view key, const std::vector<T>& values) {
    begin_array(key, meta_type_of<T>(), values.size());
    for (const T value : values) append(pairs_, &value, sizeof value);  // one by one: vector<bool> has no data()
  }
  void set(std::string_view key, std::string_view text);
  void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }
  void set(std::string_view key, const std::string& text) { set(key, std::string_view(text)); }
  void set(std::string_view key, const std::vector<std::string>& texts);

  // `shape` is row-major, outermost first; `bytes` as they are to be stored, storage_bytes(dtype, elements) of them.
  void tensor(std::string_view name, DType, std::span<const int64_t> shape, std::span<const std::byte> bytes);
  void tensor(std::string_view name, std::span<const int64_t> shape, std::span<const float> values);  // F32

  Status write(const std::string& path) const;
  // PREFIX-00001-of-0000N.gguf and so on, as even as whole tensors allow; the pairs go to the first part. Returns the
  // paths. REQUIRES 1 <= parts <= 65535.
  Result<std::vector<std::string>> write_split(const std::string& prefix, int parts) const;

 private:
  struct Tensor {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };

  static void append(std::string& out, const void* bytes, size_t count) {
    out.append(static_cast<const char*>(bytes), count);
  }
  static void append_text(std::string& out, std::string_view text);
  void begin_pair(std::string_view key, MetaType);
  void begin_array(std::string_view key, MetaType element, uint64_t count);
  static Status write_part(const std::string& path, uint64_t pair_count, std::string_view pairs,
                           std::span<const Tensor> tensors);

  uint64_t pair_count_ = 0;
  std::string pairs_;  // as they stand in the file
  std::vector<Tensor> tensors_;
};

struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // as the format spells it: "F32", "BF16", "I64" ...
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};
SafetensorsTensor f32_tensor(std::string name, std::vector<int64_t> shape, std::span<const float> values);

Status write_safetensors(const std::string& path, std::span<const SafetensorsTensor> tensors);

}  // namespace shardwise
