// A GGUF model in one file, or split in parts named PREFIX-00001-of-00003.gguf that carry split.no and split.count.
#include <optional>
#include <unordered_set>

#include "shardwise/file/gguf.h"
#include "shardwise/file/model_parts.h"

namespace shardwise {
namespace {

struct PartName {
  std::string prefix;
  int64_t number = 0;  // from 1
  int64_t count = 0;
};

std::string part_path(const PartName& name, int64_t number) {
  return fmt::format("{}-{:05d}-of-{:05d}.gguf", name.prefix, number, name.count);
}

std::optional<int64_t> five_digits(std::string_view text) {
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Nothing for a path that does not end in -ddddd-of-ddddd.gguf.
std::optional<PartName> split_name(std::string_view path) {
  constexpr std::string_view kForm = "-00000-of-00000.gguf";
  if (path.size() < kForm.size()) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kForm.size());
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || tail.substr(15) != ".gguf") return std::nullopt;
  const auto number = five_digits(tail.substr(1, 5)), count = five_digits(tail.substr(10, 5));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return PartName{std::string(path.substr(0, path.size() - kForm.size())), *number, *count};
}

class PartOpener {
 public:
  PartOpener(Mapping first, FileScope scope) : path_(first.path()), scope_(scope), first_(std::move(first)) {}

  Result<ModelParts> open() {
    const auto name = split_name(path_);
    if (name && name->number != 1)
      return fail("{}: is part {} of {}; give the first part, {}", in_quotes(path_), name->number, name->count,
                  in_quotes(part_path(*name, 1)));
    auto header = parse_gguf(path_, first_.bytes(), scope_);
    if (!header) return header.error();
    int64_t count = 1;
    if (header->metadata.find("split.count")) {
      const auto stored = header->metadata.require_integer("split.count");
      if (!stored) return stored.error();
      count = *stored;
    }
    const auto total = header->metadata.integer("split.tensors.count");
    if (Status s = check_first(*header, name, count); !s) return s.error();
    add(std::move(first_), *std::move(header));
    for (int64_t number = 2; number <= count; ++number)
      if (Status s = add_part(part_path(*name, number), number, count); !s) return s.error();
    if (count > 1 && (!total || *total != int64_t(out_.tensors.size())))
      return fail("{}: split.tensors.count is {}, but the {} parts have {} tensors", in_quotes(path_),
                  total ? fmt::format("{}", *total) : "missing", count, out_.tensors.size());
    if (Status s = check_names(); !s) return s.error();
    return std::move(out_);
  }

 private:
  Status check_first(const GgufHeader& header, const std::optional<PartName>& name, int64_t count) const {
    if (count < 1) return fail("{}: split.count is {}, expected 1 or more", in_quotes(path_), count);
    if (name && name->count != count)
      return fail("{}: is named as part 1 of {}, but its split.count is {}", in_quotes(path_), name->count, count);
    if (count == 1) return {};
    if (!name)
      return fail("{}: is one of {} parts; rename them to the form PREFIX-00001-of-{:05d}.gguf and give the first",
                  in_quotes(path_), count, count);
    return check_number(path_, header.metadata, 1);
  }

  static Status check_number(const std::string& path, const Metadata& metadata, int64_t number) {
    const auto stored = metadata.require_integer("split.no");
    if (!stored) return stored.error();
    if (*stored != number - 1)
      return fail("{}: split.no is {}, but its name says part {} (split.no {})", in_quotes(path), *stored, number,
                  number - 1);
    return {};
  }

  Status add_part(const std::string& path, int64_t number, int64_t count) {
    auto file = Mapping::open(path);
    if (!file)
      return fail("{}: part {} of {} is missing or unreadable; put all parts in one folder", in_quotes(path), number,
                  count);
    auto header = parse_gguf(path, file->bytes(), scope_);
    if (!header) return header.error();
    if (Status s = check_number(path, header->metadata, number); !s) return s;
    const auto stored = header->metadata.require_integer("split.count");
    if (!stored) return stored.error();
    if (*stored != count)
      return fail("{}: split.count is {}, but {} in the first part", in_quotes(path), *stored, count);
    add(*std::move(file), *std::move(header));
    return {};
  }

  void add(Mapping file, GgufHeader header) {
    if (out_.parts.empty()) out_.metadata = std::move(header.metadata);
    out_.parts.push_back({std::move(file), header.bytes});
    std::move(header.tensors.begin(), header.tensors.end(), std::back_inserter(out_.tensors));
  }

  Status check_names() const {
    std::unordered_set<std::string_view> names;
    for (const TensorInfo& tensor : out_.tensors)
      if (!names.insert(tensor.name).second)
        return fail("{}: two of the parts have a tensor {}", in_quotes(path_), in_quotes(tensor.name));
    return {};
  }

  std::string path_;
  FileScope scope_;
  Mapping first_;
  ModelParts out_;
};

}  // namespace

Result<ModelParts> open_gguf(Mapping first, FileScope scope) { return PartOpener(std::move(first), scope).open(); }

}  // namespace shardwise
