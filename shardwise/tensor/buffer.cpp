// Buffers are anonymous mappings: aligned, zero, and cheap until touched.
#include "shardwise/tensor/buffer.h"

#include <sys/mman.h>

#include "shardwise/base/check.h"

namespace shardwise {

namespace {
constexpr size_t kHuge = size_t{2} << 20;
}

Buffer::Buffer(size_t bytes, Touch touch) : bytes_(bytes) {
  if (bytes == 0) return;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(p != MAP_FAILED, "no memory for {} bytes", bytes);
  if (touch == Touch::Sparse)
    madvise(p, bytes, MADV_NOHUGEPAGE);
  else if (bytes >= kHuge)
    madvise(p, bytes, MADV_HUGEPAGE);
  data_ = std::unique_ptr<std::byte[], Unmap>(static_cast<std::byte*>(p), Unmap{bytes});
}

void Buffer::Unmap::operator()(std::byte* p) const { munmap(p, bytes); }

}  // namespace shardwise
