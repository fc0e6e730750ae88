// The safetensors reader: a length, a JSON object read event by event (no tree is built), checks, placement.
#include "shardwise/file/safetensors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "shardwise/file/cursor.h"

namespace shardwise {
namespace {

using Json = nlohmann::json;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own reader
constexpr uint64_t kMaxDim = uint64_t{1} << 40;
constexpr size_t kMaxDims = 8;

struct StoredType {
  std::string_view name;
  uint64_t bits;
  std::optional<DType> dtype;  // nothing: not computed with
};
constexpr std::array<StoredType, 22> kStoredTypes = {{
    {"F32", 32, DType::F32}, {"F16", 16, DType::F16}, {"BF16", 16, DType::BF16}, {"BOOL", 8, {}},
    {"U8", 8, {}},           {"I8", 8, {}},           {"F8_E4M3", 8, {}},        {"F8_E5M2", 8, {}},
    {"F8_E8M0", 8, {}},      {"F8_E4M3FNUZ", 8, {}},  {"F8_E5M2FNUZ", 8, {}},    {"U16", 16, {}},
    {"I16", 16, {}},         {"U32", 32, {}},         {"I32", 32, {}},           {"U64", 64, {}},
    {"I64", 64, {}},         {"F64", 64, {}},         {"C64", 64, {}},           {"F4", 4, {}},
    {"F6_E2M3", 6, {}},      {"F6_E3M2", 6, {}},
}};

struct StoredTensor {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

// Listens to the events of the header's JSON. Levels: the object, a tensor (or __metadata__) in it, a list in that.
class HeaderEvents : public nlohmann::json_sax<Json> {
 public:
  HeaderEvents(std::string file, Metadata& metadata) : file_(std::move(file)), metadata_(metadata) {}

  const Error& error() const { return error_; }
  std::vector<StoredTensor>& tensors() { return tensors_; }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a bool"); }
  bool number_integer(number_integer_t value) override { return unexpected(fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a fraction"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3) return unexpected(fmt::format("{}", value));
    if (list_->size() >= kMaxDims) return wrong("a list of more than {} numbers", kMaxDims);
    list_->push_back(value);
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ != 2) return unexpected("a text");
    if (in_metadata_) {
      if (metadata_.add_owned(field_, std::move(text))) return true;
      return wrong("the key twice");
    }
    if (field_ != "dtype") return unexpected("a text");
    if (tensors_.back().dtype) return wrong("the field twice");
    tensors_.back().dtype = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ > 1 || (depth_ == 1 && name_.empty())) return unexpected("an object");
    if (++depth_ == 2 && !in_metadata_) tensors_.push_back({name_, {}, {}, {}});
    return true;
  }
  bool end_object() override {
    --depth_;
    field_.clear();
    return true;
  }
  bool key(string_t& key) override {
    if (depth_ == 2) {
      field_ = std::move(key);
      return true;
    }
    name_ = std::move(key);
    field_.clear();
    in_metadata_ = name_ == "__metadata__";
    if (name_.empty()) return wrong("an empty tensor name");
    if (!names_.insert(name_).second) return wrong("the name twice");
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || (field_ != "shape" && field_ != "data_offsets")) return unexpected("a list");
    auto& list = field_ == "shape" ? tensors_.back().shape : tensors_.back().offsets;
    if (list) return wrong("the field twice");
    list_ = &list.emplace();
    depth_ = 3;
    return true;
  }
  bool end_array() override {
    depth_ = 2;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    error_ = fail("{}: the header is not valid JSON at byte {} of it", file_, byte);
    return false;
  }

 private:
  std::string where() const {
    if (depth_ == 0) return "the header";
    std::string at = depth_ == 1 && name_.empty() ? "the header" : in_quotes(name_);
    return field_.empty() ? at : at + ", field " + in_quotes(field_);
  }
  bool unexpected(std::string_view what) {
    error_ = fail("{}: {}: found {} where the format has no such thing", file_, where(), what);
    return false;
  }
  template <class... Args>
  bool wrong(fmt::format_string<Args...> format, Args&&... args) {
    error_ = fail("{}: {}: found {}", file_, where(), fmt::format(format, std::forward<Args>(args)...));
    return false;
  }

  std::string file_;
  Metadata& metadata_;
  Error error_;
  int depth_ = 0;
  bool in_metadata_ = false;
  std::string name_;   // the tensor that is open
  std::string field_;  // the field in it
  std::vector<uint64_t>* list_ = nullptr;
  std::vector<StoredTensor> tensors_;
  std::unordered_set<std::string> names_;
};

class SafetensorsParser {
 public:
  SafetensorsParser(std::string_view file, std::span<const std::byte> bytes, FileScope scope)
      : file_(in_quotes(file)), bytes_(bytes), scope_(scope) {
    header_.metadata = Metadata(std::string(file));
  }

  Result<SafetensorsHeader> parse() {
    Cursor in(bytes_);
    const auto length = in.take<uint64_t>();
    if (!length) return fail("{}: has {} bytes, too few for the header length; fetch it again", file_, bytes_.size());
    if (*length > in.left())
      return fail("{}: claims a header of {} bytes, but only {} follow; it is cut short or not a safetensors file",
                  file_, *length, in.left());
    if (*length > kMaxHeaderBytes)
      return fail("{}: claims a header of {} bytes, more than the {} of the format", file_, *length, kMaxHeaderBytes);
    header_.bytes = 8 + *length;
    present_ = bytes_.size() - header_.bytes;
    HeaderEvents events(file_, header_.metadata);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + 8, *length);
    if (!text.starts_with('{')) return fail("{}: the header is not a JSON object", file_);
    try {
      if (!Json::sax_parse(text, &events)) return events.error();
    } catch (const std::exception& e) {
      return fail("{}: the header cannot be read: {}", file_, e.what());
    }
    if (Status s = check_filling(events.tensors()); !s) return s.error();
    for (StoredTensor& stored : events.tensors())
      if (Status s = add(stored); !s) return s.error();
    return std::move(header_);
  }

 private:
  // All fields are there, and the tensors' ranges follow one another from 0 to the end of the file.
  Status check_filling(const std::vector<StoredTensor>& stored) const {
    std::vector<const StoredTensor*> order;
    order.reserve(stored.size());
    for (const StoredTensor& tensor : stored) {
      if (!tensor.dtype || !tensor.shape || !tensor.offsets || tensor.offsets->size() != 2)
        return fail("{}: tensor {} lacks dtype, shape or the two data_offsets", file_, in_quotes(tensor.name));
      const uint64_t begin = (*tensor.offsets)[0], end = (*tensor.offsets)[1];
      if (begin > end)
        return fail("{}: tensor {} has data_offsets [{}, {}], which run backwards", file_, in_quotes(tensor.name),
                    begin, end);
      if (scope_ == FileScope::Whole && end > present_)
        return fail(
            "{}: tensor {} has data_offsets [{}, {}], but only {} bytes of data are there; fetch the file again", file_,
            in_quotes(tensor.name), begin, end, present_);
      order.push_back(&tensor);
    }
    std::sort(order.begin(), order.end(),
              [](const StoredTensor* a, const StoredTensor* b) { return *a->offsets < *b->offsets; });
    uint64_t filled = 0;
    for (const StoredTensor* tensor : order) {
      const uint64_t begin = (*tensor->offsets)[0];
      if (begin != filled)
        return fail("{}: tensor {} begins at byte {} of the data, expected {}: data_offsets {}", file_,
                    in_quotes(tensor->name), begin, filled, begin < filled ? "overlap" : "leave a gap");
      filled = (*tensor->offsets)[1];
    }
    if (scope_ == FileScope::Whole && filled != present_)
      return fail("{}: the tensors take {} bytes, but {} are there; the file is damaged, fetch it again", file_, filled,
                  present_);
    return {};
  }

  Status add(StoredTensor& stored) {
    const auto type = std::find_if(kStoredTypes.begin(), kStoredTypes.end(),
                                   [&](const StoredType& t) { return t.name == *stored.dtype; });
    if (type == kStoredTypes.end())
      return fail("{}: tensor {} has dtype {}, which is not known", file_, in_quotes(stored.name),
                  in_quotes(*stored.dtype));
    TensorInfo tensor;
    uint64_t bits = type->bits;
    bool wraps = false;
    for (const uint64_t dim : *stored.shape) {
      wraps = wraps || dim > kMaxDim || __builtin_mul_overflow(bits, dim, &bits);
      tensor.shape.push_back(int64_t(dim));
    }
    const uint64_t begin = (*stored.offsets)[0], end = (*stored.offsets)[1];
    if (wraps || bits % 8 != 0 || bits / 8 != end - begin)
      return fail("{}: tensor {} of type {} and shape [{}] does not take the {} bytes of data_offsets [{}, {}]", file_,
                  in_quotes(stored.name), type->name, fmt::join(*stored.shape, ", "), end - begin, begin, end);
    if (!type->dtype || bits == 0) {
      header_.opaque.push_back(
          {std::move(stored.name), bits == 0 ? "has no elements" : fmt::format("has type {}", type->name)});
      return {};
    }
    tensor.name = std::move(stored.name);
    tensor.dtype = *type->dtype;
    tensor.bytes = int64_t(end - begin);
    if (scope_ == FileScope::Whole) tensor.data = bytes_.data() + header_.bytes + begin;
    header_.tensors.push_back(std::move(tensor));
    return {};
  }

  std::string file_;
  std::span<const std::byte> bytes_;
  FileScope scope_;
  uint64_t present_ = 0;  // bytes of data
  SafetensorsHeader header_;
};

}  // namespace

Result<SafetensorsHeader> parse_safetensors(std::string_view file, std::span<const std::byte> bytes, FileScope scope) {
  return SafetensorsParser(file, bytes, scope).parse();
}

}  // namespace shardwise
