// Decoding of metadata values. What is decoded here was checked by the reader that added it.
#include "shardwise/file/metadata.h"

#include <array>
#include <limits>

#include "shardwise/base/check.h"
#include "shardwise/file/cursor.h"

namespace shardwise {
namespace {

struct MetaTypeRow {
  std::string_view name;
  uint64_t bytes;
};
constexpr std::array<MetaTypeRow, 13> kMetaTypes = {{{"u8", 1},
                                                     {"i8", 1},
                                                     {"u16", 2},
                                                     {"i16", 2},
                                                     {"u32", 4},
                                                     {"i32", 4},
                                                     {"f32", 4},
                                                     {"bool", 1},
                                                     {"text", 0},
                                                     {"array", 0},
                                                     {"u64", 8},
                                                     {"i64", 8},
                                                     {"f64", 8}}};

// Calls use(value) with each element in its stored C++ type; false when `array` holds texts or arrays.
template <class Use>
bool for_each_scalar(const MetaArray& array, Use use) {
  Cursor cursor(array.bytes);
  const auto all = [&]<class T>(T) {
    for (uint64_t i = 0; i < array.count; ++i) use(cursor.take<T>().value());
    return true;
  };
  switch (array.element) {
    case MetaType::U8: return all(uint8_t{});
    case MetaType::I8: return all(int8_t{});
    case MetaType::U16: return all(uint16_t{});
    case MetaType::I16: return all(int16_t{});
    case MetaType::U32: return all(uint32_t{});
    case MetaType::I32: return all(int32_t{});
    case MetaType::F32: return all(float{});
    case MetaType::U64: return all(uint64_t{});
    case MetaType::I64: return all(int64_t{});
    case MetaType::F64: return all(double{});
    case MetaType::Bool: return all(uint8_t{});
    case MetaType::Text:
    case MetaType::Array: return false;
  }
  return false;
}

std::optional<int64_t> as_integer(const MetaValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  if (const auto* u = std::get_if<uint64_t>(&value))
    if (*u <= uint64_t(std::numeric_limits<int64_t>::max())) return int64_t(*u);
  return std::nullopt;
}

std::optional<double> as_number(const MetaValue& value) {
  if (const auto* d = std::get_if<double>(&value)) return *d;
  if (const auto* i = std::get_if<int64_t>(&value)) return double(*i);
  if (const auto* u = std::get_if<uint64_t>(&value)) return double(*u);
  return std::nullopt;
}

std::string found(const MetaValue* value) {
  if (!value) return "the key is missing";
  return fmt::format("found {}", describe(*value));
}

}  // namespace

std::string meta_type_name(MetaType type) {
  const auto id = uint32_t(type);
  return id < kMetaTypes.size() ? std::string(kMetaTypes[id].name) : fmt::format("type {}", id);
}

uint64_t meta_type_bytes(MetaType type) {
  CHECK(uint32_t(type) < kMetaTypes.size(), "type {}", uint32_t(type));
  return kMetaTypes[uint32_t(type)].bytes;
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kWidth = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kWidth)) {
    if (uint8_t(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", uint8_t(c));
    } else {
      out += c;
    }
  }
  return out + (text.size() > kWidth ? "...'" : "'");
}

std::string describe(const MetaValue& value, size_t width) {
  struct Visitor {
    size_t width;
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(uint64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(std::string_view v) const {
      std::string out = "\"";
      for (const char c : v.substr(0, width)) out += c == '\n' ? "\\n" : uint8_t(c) < 0x20 ? "?" : std::string(1, c);
      return out + (v.size() > width ? "...\"" : "\"");
    }
    std::string operator()(const MetaArray& v) const {
      return fmt::format("[{} x {}]", v.count, meta_type_name(v.element));
    }
  };
  return std::visit(Visitor{width}, value);
}

bool Metadata::add(std::string_view key, MetaValue value) {
  if (!index_.emplace(key, entries_.size()).second) return false;
  entries_.push_back({key, value});
  return true;
}

bool Metadata::add_owned(std::string key, std::string text) {
  const std::string_view kept_key = owned_.emplace_back(std::move(key));
  const std::string_view kept_text = owned_.emplace_back(std::move(text));
  return add(kept_key, kept_text);
}

const MetaValue* Metadata::find(std::string_view key) const {
  const auto it = index_.find(key);
  return it == index_.end() ? nullptr : &entries_[it->second].value;
}

std::optional<int64_t> Metadata::integer(std::string_view key) const {
  const auto* value = find(key);
  return value ? as_integer(*value) : std::nullopt;
}

std::optional<double> Metadata::number(std::string_view key) const {
  const auto* value = find(key);
  return value ? as_number(*value) : std::nullopt;
}

std::optional<std::string> Metadata::text(std::string_view key) const {
  const auto* value = find(key);
  const auto* text = value ? std::get_if<std::string_view>(value) : nullptr;
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

std::optional<bool> Metadata::flag(std::string_view key) const {
  const auto* value = find(key);
  const auto* flag = value ? std::get_if<bool>(value) : nullptr;
  return flag ? std::optional<bool>(*flag) : std::nullopt;
}

std::optional<std::vector<std::string_view>> Metadata::strings(std::string_view key) const {
  const auto* value = find(key);
  if (!value) return std::nullopt;
  if (const auto* one = std::get_if<std::string_view>(value)) return std::vector{*one};
  const auto* array = std::get_if<MetaArray>(value);
  if (!array || array->element != MetaType::Text) return std::nullopt;
  std::vector<std::string_view> out;
  out.reserve(array->count);
  Cursor cursor(array->bytes);
  for (uint64_t i = 0; i < array->count; ++i) out.push_back(cursor.take_text().value());
  return out;
}

std::optional<std::vector<int64_t>> Metadata::integers(std::string_view key) const {
  const auto* value = find(key);
  if (!value) return std::nullopt;
  const auto* array = std::get_if<MetaArray>(value);
  if (!array) {
    const auto one = as_integer(*value);
    return one ? std::optional(std::vector{*one}) : std::nullopt;
  }
  if (array->element == MetaType::Bool || array->element == MetaType::F32 || array->element == MetaType::F64)
    return std::nullopt;
  std::vector<int64_t> out;
  out.reserve(array->count);
  bool fits = true;
  const bool scalar = for_each_scalar(*array, [&](auto element) {
    if constexpr (std::is_same_v<decltype(element), uint64_t>)
      fits = fits && element <= uint64_t(std::numeric_limits<int64_t>::max());
    if constexpr (std::is_integral_v<decltype(element)>) out.push_back(int64_t(element));
  });
  if (!scalar || !fits) return std::nullopt;
  return out;
}

std::optional<std::vector<double>> Metadata::numbers(std::string_view key) const {
  const auto* value = find(key);
  if (!value) return std::nullopt;
  const auto* array = std::get_if<MetaArray>(value);
  if (!array) {
    const auto one = as_number(*value);
    return one ? std::optional(std::vector{*one}) : std::nullopt;
  }
  if (array->element == MetaType::Bool) return std::nullopt;
  std::vector<double> out;
  out.reserve(array->count);
  if (!for_each_scalar(*array, [&](auto element) { out.push_back(double(element)); })) return std::nullopt;
  return out;
}

std::optional<std::vector<bool>> Metadata::flags(std::string_view key) const {
  const auto* value = find(key);
  if (!value) return std::nullopt;
  if (const auto* one = std::get_if<bool>(value)) return std::vector<bool>{*one};
  const auto* array = std::get_if<MetaArray>(value);
  if (!array || array->element != MetaType::Bool) return std::nullopt;
  std::vector<bool> out;
  out.reserve(array->count);
  for_each_scalar(*array, [&](auto element) { out.push_back(element != 0); });
  return out;
}

template <class T>
Result<T> Metadata::required(std::optional<T> value, std::string_view key, std::string_view wanted) const {
  if (value) return *std::move(value);
  return fail("{}: metadata {}: {}, expected {}", in_quotes(file_), in_quotes(key), found(find(key)), wanted);
}

Result<int64_t> Metadata::require_integer(std::string_view key) const {
  return required(integer(key), key, "an integer");
}
Result<double> Metadata::require_number(std::string_view key) const { return required(number(key), key, "a number"); }
Result<std::string> Metadata::require_text(std::string_view key) const { return required(text(key), key, "a text"); }
Result<bool> Metadata::require_flag(std::string_view key) const { return required(flag(key), key, "a bool"); }
Result<std::vector<std::string_view>> Metadata::require_strings(std::string_view key) const {
  return required(strings(key), key, "a list of texts");
}
Result<std::vector<int64_t>> Metadata::require_integers(std::string_view key) const {
  return required(integers(key), key, "a list of integers");
}
Result<std::vector<double>> Metadata::require_numbers(std::string_view key) const {
  return required(numbers(key), key, "a list of numbers");
}

}  // namespace shardwise
