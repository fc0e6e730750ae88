// The key/value pairs that a model file carries. Texts and arrays stay where they lie in the mapped file and are
// decoded when asked for, so a vocabulary of 262,144 tokens costs nothing until it is used. Valid while its ModelFile
// lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "shardwise/base/result.h"

namespace shardwise {

// The types of values, with their numbers in GGUF.
enum class MetaType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, Array, U64, I64, F64 };

// "u32", "text" ...; "type 77" of a number that is none of them.
std::string meta_type_name(MetaType);

// Bytes of one value; 0 where that varies (Text, Array).
uint64_t meta_type_bytes(MetaType);

// `count` elements as they lie in the file; checked when the file was opened, so decoding cannot fail.
struct MetaArray {
  MetaType element = MetaType::U8;
  uint64_t count = 0;
  std::span<const std::byte> bytes;
};

using MetaValue = std::variant<bool, int64_t, uint64_t, double, std::string_view, MetaArray>;

// For people: 32000, "llama", [262144 x text]. Texts are cut after `width` bytes.
std::string describe(const MetaValue&, size_t width = 64);

// A name from a file made fit for one line of a message: control bytes escaped, cut after 80 bytes, in quotes.
std::string in_quotes(std::string_view);

class Metadata {
 public:
  struct Entry {
    std::string_view key;
    MetaValue value;
  };

  // `file` names the source in the errors of require_*.
  explicit Metadata(std::string file = {}) : file_(std::move(file)) {}
  Metadata(Metadata&&) = default;
  Metadata& operator=(Metadata&&) = default;

  std::span<const Entry> entries() const { return entries_; }  // in file order
  const MetaValue* find(std::string_view key) const;           // null when absent

  // Nothing when the key is absent, of another type, or out of range. Integers serve as numbers; a single value serves
  // as an array of one. Numbers of arrays of integers are converted.
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::vector<std::string_view>> strings(std::string_view key) const;  // views into the file
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::vector<bool>> flags(std::string_view key) const;

  // The same, with a sentence on what is wrong: the file, the key, what was found and what was expected.
  Result<int64_t> require_integer(std::string_view key) const;
  Result<double> require_number(std::string_view key) const;
  Result<std::string> require_text(std::string_view key) const;
  Result<bool> require_flag(std::string_view key) const;
  Result<std::vector<std::string_view>> require_strings(std::string_view key) const;
  Result<std::vector<int64_t>> require_integers(std::string_view key) const;
  Result<std::vector<double>> require_numbers(std::string_view key) const;

  // False when the key is there already. `key` and the value's bytes must outlive this object; add_owned keeps copies.
  bool add(std::string_view key, MetaValue value);
  bool add_owned(std::string key, std::string text);

 private:
  template <class T>
  Result<T> required(std::optional<T> found, std::string_view key, std::string_view wanted) const;

  std::string file_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, size_t> index_;
  std::deque<std::string> owned_;  // a deque: views into its strings survive growth
};

}  // namespace shardwise
