// The GGUF reader: magic and version, key/value pairs, tensor infos, then checks on the tensors together.
#include "shardwise/file/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "shardwise/file/cursor.h"

namespace shardwise {
namespace {

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
constexpr uint64_t kMaxKeyBytes = 65535;   // the format's own limit
constexpr uint64_t kMaxNameBytes = 65535;  // the format says 64; some files have more
constexpr uint64_t kMaxDim = uint64_t{1} << 40;
constexpr uint32_t kMaxDims = 4;
constexpr int kMaxArrayDepth = 4;
constexpr uint64_t kMinPairBytes = 8 + 1 + 4 + 1;            // length, key, type, value
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;  // length, name, dims, dim, type, offset

class GgufParser {
 public:
  GgufParser(std::string_view file, std::span<const std::byte> bytes, FileScope scope)
      : file_(in_quotes(file)), bytes_(bytes), scope_(scope), in_(bytes) {
    header_.metadata = Metadata(std::string(file));
  }

  Result<GgufHeader> parse() {
    if (Status s = parse_counts(); !s) return s.error();
    for (uint64_t i = 0; i < pair_count_; ++i)
      if (Status s = parse_pair(i); !s) return s.error();
    if (Status s = find_alignment(); !s) return s.error();
    header_.tensors.reserve(tensor_count_);  // bounded by the bytes that are there: parse_counts
    for (uint64_t i = 0; i < tensor_count_; ++i)
      if (Status s = parse_tensor(i); !s) return s.error();
    header_.bytes = (in_.at() + alignment_ - 1) / alignment_ * alignment_;
    if (Status s = check_names(); !s) return s.error();
    if (Status s = place_tensors(); !s) return s.error();
    return std::move(header_);
  }

 private:
  Error ends_in(std::string_view part) const {
    return fail("{}: the file ends inside {} (it has {} bytes); it is cut short or damaged, fetch it again", file_,
                part, bytes_.size());
  }

  Status parse_counts() {
    const auto magic = in_.take_bytes(4);
    if (!magic) return ends_in("its magic");
    if (std::memcmp(magic->data(), "FUGG", 4) == 0) return big_endian();
    if (std::memcmp(magic->data(), "GGUF", 4) != 0)
      return fail("{}: begins with {}, not with 'GGUF': it is not a GGUF file", file_,
                  in_quotes({reinterpret_cast<const char*>(magic->data()), 4}));
    const auto version = in_.take<uint32_t>();
    if (!version) return ends_in("its version");
    if (*version != 0 && (*version & 0xffff) == 0) return big_endian();
    if (*version != 2 && *version != 3)
      return fail("{}: GGUF version {} is not supported, 2 and 3 are; convert the model again", file_, *version);
    const auto tensor_count = in_.take<uint64_t>();
    const auto pair_count = in_.take<uint64_t>();
    if (!tensor_count || !pair_count) return ends_in("its counts");
    tensor_count_ = *tensor_count;
    pair_count_ = *pair_count;
    if (pair_count_ > in_.left() / kMinPairBytes)
      return fail("{}: claims {} metadata pairs, but only {} bytes follow", file_, pair_count_, in_.left());
    if (tensor_count_ > in_.left() / kMinTensorBytes)
      return fail("{}: claims {} tensors, but only {} bytes follow", file_, tensor_count_, in_.left());
    return {};
  }

  Error big_endian() const {
    return fail("{}: is a big-endian GGUF file, only little-endian ones are supported; convert the model again", file_);
  }

  Status parse_pair(uint64_t number) {
    const auto key = in_.take_text();
    if (!key) return ends_in(fmt::format("the key of metadata pair {}", number));
    if (key->empty() || key->size() > kMaxKeyBytes)
      return fail("{}: metadata pair {} has a key of {} bytes, expected 1 to {}", file_, number, key->size(),
                  kMaxKeyBytes);
    const auto type = in_.take<uint32_t>();
    if (!type) return ends_in(fmt::format("metadata {}", in_quotes(*key)));
    const auto value = parse_value(*key, MetaType(*type));
    if (!value) return value.error();
    if (!header_.metadata.add(*key, *value)) return fail("{}: metadata {} is there twice", file_, in_quotes(*key));
    return {};
  }

  Result<MetaValue> parse_value(std::string_view key, MetaType type) {
    const auto whole = [&](const auto& taken) -> Result<MetaValue> {
      if (!taken) return ends_in(fmt::format("metadata {}", in_quotes(key)));
      using T = std::remove_cvref_t<decltype(*taken)>;
      if constexpr (std::is_floating_point_v<T>)
        return MetaValue(double(*taken));
      else if constexpr (std::is_signed_v<T>)
        return MetaValue(int64_t(*taken));
      else
        return MetaValue(uint64_t(*taken));
    };
    switch (type) {
      case MetaType::U8: return whole(in_.take<uint8_t>());
      case MetaType::I8: return whole(in_.take<int8_t>());
      case MetaType::U16: return whole(in_.take<uint16_t>());
      case MetaType::I16: return whole(in_.take<int16_t>());
      case MetaType::U32: return whole(in_.take<uint32_t>());
      case MetaType::I32: return whole(in_.take<int32_t>());
      case MetaType::F32: return whole(in_.take<float>());
      case MetaType::U64: return whole(in_.take<uint64_t>());
      case MetaType::I64: return whole(in_.take<int64_t>());
      case MetaType::F64: return whole(in_.take<double>());
      case MetaType::Bool: return parse_bool(key);
      case MetaType::Text: {
        const auto text = in_.take_text();
        if (!text) return ends_in(fmt::format("the text of metadata {}", in_quotes(key)));
        return MetaValue(*text);
      }
      case MetaType::Array: {
        auto array = parse_array(key, 1);
        if (!array) return array.error();
        return MetaValue(*array);
      }
    }
    return unknown_type(key, type);
  }

  Result<MetaValue> parse_bool(std::string_view key) {
    const auto value = in_.take<uint8_t>();
    if (!value) return ends_in(fmt::format("metadata {}", in_quotes(key)));
    if (*value > 1)
      return fail("{}: metadata {} is a bool of value {}, expected 0 or 1", file_, in_quotes(key), *value);
    return MetaValue(*value == 1);
  }

  Error unknown_type(std::string_view key, MetaType type) const {
    return fail("{}: metadata {} has value type {}, which GGUF does not know", file_, in_quotes(key), uint32_t(type));
  }

  // Walks over an array and returns the bytes it takes; its elements are checked but not copied.
  Result<MetaArray> parse_array(std::string_view key, int depth) {
    if (depth > kMaxArrayDepth)
      return fail("{}: metadata {} nests arrays more than {} deep", file_, in_quotes(key), kMaxArrayDepth);
    const auto element = in_.take<uint32_t>();
    const auto count = in_.take<uint64_t>();
    if (!element || !count) return ends_in(fmt::format("metadata {}", in_quotes(key)));
    if (*element > uint32_t(MetaType::F64)) return unknown_type(key, MetaType(*element));
    MetaArray array{MetaType(*element), *count, {}};
    const uint64_t fixed = meta_type_bytes(array.element);
    const uint64_t least = fixed ? fixed : array.element == MetaType::Text ? 8 : 12;
    if (*count > in_.left() / least)
      return fail("{}: metadata {} claims {} elements, but only {} bytes follow", file_, in_quotes(key), *count,
                  in_.left());
    const uint64_t begin = in_.at();
    if (fixed) {
      array.bytes = in_.take_bytes(fixed * *count).value();
      const auto wrong = [](std::byte b) { return b > std::byte{1}; };
      if (array.element == MetaType::Bool && std::any_of(array.bytes.begin(), array.bytes.end(), wrong))
        return fail("{}: metadata {} has a bool that is neither 0 nor 1", file_, in_quotes(key));
      return array;
    }
    for (uint64_t i = 0; i < *count; ++i) {
      if (array.element == MetaType::Text) {
        if (!in_.take_text()) return ends_in(fmt::format("text {} of metadata {}", i, in_quotes(key)));
      } else if (auto inner = parse_array(key, depth + 1); !inner) {
        return inner.error();
      }
    }
    array.bytes = bytes_.subspan(begin, in_.at() - begin);
    return array;
  }

  Status find_alignment() {
    if (!header_.metadata.find("general.alignment")) return {};
    const auto value = header_.metadata.require_integer("general.alignment");
    if (!value) return value.error();
    if (*value < 8 || uint64_t(*value) > kMaxAlignment || !std::has_single_bit(uint64_t(*value)))
      return fail("{}: general.alignment is {}, expected a power of two from 8 to {}", file_, *value, kMaxAlignment);
    alignment_ = uint64_t(*value);
    return {};
  }

  Status parse_tensor(uint64_t number) {
    TensorInfo tensor;
    const auto name = in_.take_text();
    if (!name) return ends_in(fmt::format("the name of tensor {}", number));
    if (name->empty() || name->size() > kMaxNameBytes)
      return fail("{}: tensor {} has a name of {} bytes, expected 1 to {}", file_, number, name->size(), kMaxNameBytes);
    tensor.name = *name;
    const std::string where = fmt::format("tensor {}", in_quotes(*name));
    const auto dims = in_.take<uint32_t>();
    if (!dims) return ends_in(where);
    if (*dims < 1 || *dims > kMaxDims)
      return fail("{}: {} has {} dims, expected 1 to {}", file_, where, *dims, kMaxDims);
    tensor.shape.resize(*dims);
    for (uint32_t i = 0; i < *dims; ++i) {  // stored innermost first
      const auto dim = in_.take<uint64_t>();
      if (!dim) return ends_in(where);
      if (*dim < 1 || *dim > kMaxDim)
        return fail("{}: {} has dim {} of size {}, expected 1 to 2^40", file_, where, i, *dim);
      tensor.shape[*dims - 1 - i] = int64_t(*dim);
    }
    const auto type = in_.take<uint32_t>();
    const auto offset = in_.take<uint64_t>();
    if (!type || !offset) return ends_in(where);
    if (Status s = measure(tensor, where, *type); !s) return s;
    header_.tensors.push_back(std::move(tensor));
    offsets_.push_back(*offset);
    return {};
  }

  // Fills in dtype and bytes.
  Status measure(TensorInfo& tensor, std::string_view where, uint32_t type) const {
    const GgmlType known = ggml_type(type);
    if (known.name.empty()) return fail("{}: {} has type number {}, which is not known", file_, where, type);
    if (!known.dtype)
      return fail(
          "{}: {} has type {}, which is not supported; use a file in F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, "
          "Q8_0 or Q2_K to Q6_K",
          file_, where, known.name);
    tensor.dtype = *known.dtype;
    const DTypeInfo& block = info(tensor.dtype);
    if (tensor.shape.back() % block.block != 0)
      return fail("{}: {} has rows of {} elements, {} needs a multiple of {}", file_, where, tensor.shape.back(),
                  block.name, block.block);
    int64_t product = 1;
    bool wraps = false;
    for (const int64_t dim : tensor.shape) wraps = wraps || __builtin_mul_overflow(product, dim, &product);
    wraps = wraps || __builtin_mul_overflow(product / block.block, block.bytes, &tensor.bytes);
    if (wraps)
      return fail("{}: {} has shape [{}], more than a file can hold", file_, where, fmt::join(tensor.shape, ", "));
    return {};
  }

  Status check_names() const {
    std::vector<std::string_view> names;
    names.reserve(header_.tensors.size());
    for (const TensorInfo& tensor : header_.tensors) names.push_back(tensor.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return fail("{}: two tensors have the name {}", file_, in_quotes(*twice));
    return {};
  }

  // Gives each tensor its place, which must be aligned, inside the file and shared with nobody.
  Status place_tensors() {
    std::vector<size_t> order(offsets_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return offsets_[a] < offsets_[b]; });
    const uint64_t present = bytes_.size() > header_.bytes ? bytes_.size() - header_.bytes : 0;
    uint64_t end = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      TensorInfo& tensor = header_.tensors[order[i]];
      const uint64_t offset = offsets_[order[i]];
      const auto size = uint64_t(tensor.bytes);
      if (offset % alignment_ != 0)
        return fail("{}: tensor {} begins at offset {}, not a multiple of the alignment {}", file_,
                    in_quotes(tensor.name), offset, alignment_);
      if (offset < end)
        return fail("{}: tensor {} at offset {} overlaps {}, which ends at {}", file_, in_quotes(tensor.name), offset,
                    in_quotes(header_.tensors[order[i - 1]].name), end);
      if (__builtin_add_overflow(offset, size, &end))
        return fail("{}: tensor {} begins at offset {}, outside any file", file_, in_quotes(tensor.name), offset);
      if (scope_ == FileScope::HeaderOnly) continue;
      if (end > present)
        return fail(
            "{}: tensor {} needs bytes {} to {} of the data, but the file has only {}; it is cut short, fetch it "
            "again",
            file_, in_quotes(tensor.name), offset, end, present);
      tensor.data = bytes_.data() + header_.bytes + offset;
    }
    return scope_ == FileScope::Whole ? check_end(end, present) : Status{};
  }

  // Some writers pad after the last tensor and some do not; a file that ends within the padding has lost its end.
  Status check_end(uint64_t end, uint64_t present) const {
    const uint64_t padded = (end + alignment_ - 1) / alignment_ * alignment_;
    if (present > end && present < padded)
      return fail(
          "{}: the file ends {} bytes early, inside the padding after its last tensor; it is cut short, fetch it "
          "again",
          file_, padded - present);
    return {};
  }

  std::string file_;
  std::span<const std::byte> bytes_;
  FileScope scope_;
  Cursor in_;
  uint64_t tensor_count_ = 0;
  uint64_t pair_count_ = 0;
  uint64_t alignment_ = kDefaultAlignment;
  std::vector<uint64_t> offsets_;
  GgufHeader header_;
};

}  // namespace

Result<GgufHeader> parse_gguf(std::string_view file, std::span<const std::byte> bytes, FileScope scope) {
  return GgufParser(file, bytes, scope).parse();
}

}  // namespace shardwise
