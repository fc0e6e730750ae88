// mmap, and the guard that turns the loss of a mapped page (SIGBUS) into an error that can be reported.
#include "shardwise/file/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "shardwise/base/check.h"
#include "shardwise/file/metadata.h"

namespace shardwise {
namespace {

// The handler may only touch lock-free atomics, so the live mappings stand in a table of fixed size. A mapping beyond
// it is merely unguarded.
struct GuardSlot {
  std::atomic<uintptr_t> begin{0};  // 0: free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> lost_pages{false};
};
constexpr int kGuardSlots = 1024;
std::array<GuardSlot, kGuardSlots> guard_slots;
std::mutex guard_mutex;  // taken by guard() and unguard(), never by the handler
struct sigaction previous_action;
uintptr_t page_bytes;

void on_lost_page(int, siginfo_t* signal, void*) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<uintptr_t>(signal->si_addr);
  for (GuardSlot& slot : guard_slots) {
    const uintptr_t begin = slot.begin.load();
    const uintptr_t end = slot.end.load();
    if (begin == 0 || address < begin || address >= end) continue;
    const uintptr_t page = address & ~(page_bytes - 1);
    slot.lost_pages.store(true);
    void* zeros =
        mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (zeros == MAP_FAILED) break;
    errno = saved_errno;
    return;
  }
  sigaction(SIGBUS, &previous_action, nullptr);  // not ours: the access is repeated under whoever was there before
  errno = saved_errno;
}

int guard(std::span<const std::byte> bytes) {
  const std::lock_guard lock(guard_mutex);
  static const bool installed = [] {
    page_bytes = uintptr_t(sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = on_lost_page;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &previous_action) == 0;
  }();
  if (!installed) return -1;
  for (int i = 0; i < kGuardSlots; ++i) {
    GuardSlot& slot = guard_slots[size_t(i)];
    if (slot.begin.load() != 0) continue;
    slot.lost_pages.store(false);
    slot.end.store(reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size());
    slot.begin.store(reinterpret_cast<uintptr_t>(bytes.data()));
    return i;
  }
  return -1;
}

void unguard(int slot) {
  if (slot < 0) return;
  const std::lock_guard lock(guard_mutex);
  guard_slots[size_t(slot)].begin.store(0);
}

std::string reason() { return std::strerror(errno); }

}  // namespace

Result<Mapping> Mapping::open(const std::string& path) {
  Mapping file;
  file.path_ = path;
  // A pipe would block an open(), so its kind is looked at first.
  if (stat(path.c_str(), &file.opened_) != 0) return fail("{}: cannot be opened: {}", in_quotes(path), reason());
  if (!S_ISREG(file.opened_.st_mode)) return fail("{}: is not a regular file", in_quotes(path));
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) return fail("{}: cannot be opened: {}", in_quotes(path), reason());
  if (fstat(file.descriptor_, &file.opened_) != 0) return fail("{}: cannot be read: {}", in_quotes(path), reason());
  const auto size = size_t(file.opened_.st_size);
  if (size == 0) return fail("{}: the file is empty", in_quotes(path));
  void* at = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor_, 0);
  if (at == MAP_FAILED) return fail("{}: {} bytes cannot be mapped: {}", in_quotes(path), size, reason());
  file.bytes_ = {static_cast<const std::byte*>(at), size};
  file.guard_slot_ = guard(file.bytes_);
  return file;
}

Mapping::Mapping(Mapping&& other) noexcept { *this = std::move(other); }

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  bytes_ = std::exchange(other.bytes_, {});
  opened_ = other.opened_;
  guard_slot_ = std::exchange(other.guard_slot_, -1);
  return *this;
}

Mapping::~Mapping() { close(); }

void Mapping::close() {
  unguard(std::exchange(guard_slot_, -1));
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Status Mapping::verify_unchanged() const {
  struct stat now {};
  if (fstat(descriptor_, &now) != 0) return fail("{}: cannot be read any more: {}", in_quotes(path_), reason());
  if (now.st_size != opened_.st_size)
    return fail("{}: had {} bytes when it was opened and has {} now; give a file that nobody writes to",
                in_quotes(path_), opened_.st_size, now.st_size);
  if (guard_slot_ >= 0 && guard_slots[size_t(guard_slot_)].lost_pages.load())
    return fail("{}: parts of the file could not be read: it was cut short for a while, or its disk fails",
                in_quotes(path_));
  if (now.st_mtim.tv_sec != opened_.st_mtim.tv_sec || now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec)
    return fail("{}: was written to after it was opened; start again with the finished file", in_quotes(path_));
  return {};
}

void Mapping::expect_random_access() const {
  madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_RANDOM);  // a hint: failing changes no answer
}

Status Mapping::prefetch(std::span<const std::byte> part) const {
  CHECK(part.data() >= bytes_.data() && part.data() + part.size() <= bytes_.data() + bytes_.size(),
        "{}: a range outside the file", path_);
  const auto begin = reinterpret_cast<uintptr_t>(part.data()) & ~(page_bytes - 1);
  const auto end = reinterpret_cast<uintptr_t>(part.data()) + part.size();
  if (begin < end && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED) != 0)
    return fail("{}: cannot be read ahead: {}", in_quotes(path_), reason());
  return {};
}

Status Mapping::release(std::span<const std::byte> part) const {
  CHECK(part.data() >= bytes_.data() && part.data() + part.size() <= bytes_.data() + bytes_.size(),
        "{}: a range outside the file", path_);
  // Only pages wholly inside: the neighbours' bytes on the border pages may still be in use.
  const auto begin = (reinterpret_cast<uintptr_t>(part.data()) + page_bytes - 1) & ~(page_bytes - 1);
  const auto end = (reinterpret_cast<uintptr_t>(part.data()) + part.size()) & ~(page_bytes - 1);
  if (begin < end && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) != 0)
    return fail("{}: cannot be released: {}", in_quotes(path_), reason());
  return {};
}

}  // namespace shardwise
