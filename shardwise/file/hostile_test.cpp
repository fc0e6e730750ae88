// The helpers of hostile_test.h. All memory that this test program allocates is counted.
#include "shardwise/file/hostile_test.h"

#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

namespace {
std::atomic<uint64_t> allocated_bytes{0};
}

// Not inlined: where it is, the compiler takes the free() for one of memory that came from new.
[[gnu::noinline]] void* operator new(size_t bytes) {
  allocated_bytes += bytes;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace shardwise {

Folder::Folder() {
  std::string form = (std::filesystem::temp_directory_path() / "shardwise_file_XXXXXX").string();
  const char* made = mkdtemp(form.data());
  if (made) path_ = made;
  EXPECT_NE(made, nullptr);
}

Folder::~Folder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::streamsize(bytes.size()));
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Bytes gguf_start(uint64_t tensors, uint64_t pairs, uint32_t version) {
  return Bytes().raw("GGUF").u32(version).u64(tensors).u64(pairs);
}

Bytes& add_tensor(Bytes& bytes, std::string_view name, std::vector<uint64_t> stored_dims, uint32_t type,
                  uint64_t offset) {
  bytes.text(name).u32(uint32_t(stored_dims.size()));
  for (const uint64_t dim : stored_dims) bytes.u64(dim);
  return bytes.u32(type).u64(offset);
}

std::vector<std::byte> exact(std::string_view bytes) {
  std::vector<std::byte> out(bytes.size());
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

std::string cheap_error(const std::function<std::optional<Error>()>& open) {
  const auto processor_s = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
  };
  const uint64_t bytes_before = allocated_bytes;
  const double s_before = processor_s();
  const std::optional<Error> error = open();
  EXPECT_LT(processor_s() - s_before, 0.1);
  EXPECT_LT(allocated_bytes - bytes_before, uint64_t{64} << 20);
  return error ? error->what : "";
}

void expect_words(const std::string& error, std::initializer_list<std::string_view> words) {
  EXPECT_FALSE(error.empty()) << "was accepted";
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  for (const std::string_view word : words)
    EXPECT_NE(error.find(word), std::string::npos) << word << " not in: " << error;
}

TEST(Hostile, AllocationsAreCounted) {
  const uint64_t before = allocated_bytes;
  const std::vector<std::byte> memory(12345);
  EXPECT_GE(allocated_bytes - before, 12345u);
}

}  // namespace shardwise
