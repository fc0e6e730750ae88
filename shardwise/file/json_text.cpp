// One pass of events checks the text, a second one builds the tree. The library's parser does not recurse.
#include "shardwise/file/json_text.h"

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "shardwise/file/metadata.h"

namespace shardwise {
namespace {

using Json = nlohmann::json;
constexpr size_t kMaxDepth = 64;

class JsonCheck : public nlohmann::json_sax<Json> {
 public:
  explicit JsonCheck(std::string_view file) : file_(in_quotes(file)) {}
  const Error& error() const { return error_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return value() && open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    error_ = fail("{}: the key {} is there twice in one object", file_, in_quotes(name));
    return false;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    error_ = fail("{}: is not valid JSON at byte {}", file_, byte);
    return false;
  }

 private:
  bool value() {
    if (!keys_.empty()) return true;
    error_ = fail("{}: is JSON, but not an object", file_);
    return false;
  }
  bool open() {
    keys_.emplace_back();
    if (keys_.size() <= kMaxDepth) return true;
    error_ = fail("{}: nests more than {} levels deep", file_, kMaxDepth);
    return false;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::string file_;
  Error error_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects; unused for arrays
};

}  // namespace

Result<Json> parse_json_object(std::string_view file, std::span<const std::byte> text, size_t max_bytes) {
  if (text.size() > max_bytes)
    return fail("{}: has {} bytes, more than the {} that are accepted", in_quotes(file), text.size(), max_bytes);
  const std::string_view chars(reinterpret_cast<const char*>(text.data()), text.size());
  try {
    JsonCheck check(file);
    if (!Json::sax_parse(chars, &check)) return check.error();
    return Json::parse(chars);
  } catch (const std::exception& e) {
    return fail("{}: cannot be read as JSON: {}", in_quotes(file), e.what());
  }
}

}  // namespace shardwise
