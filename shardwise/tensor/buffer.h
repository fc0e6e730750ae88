// Memory that a rank owns: aligned for the widest vectors, zero at first, only moved. Pages of large buffers become
// resident when they are first touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace shardwise {

class Buffer {
 public:
  Buffer() = default;
  // Sparse: what is touched of it lies far apart, so that huge pages would make most of it resident.
  enum class Touch : uint8_t { Dense, Sparse };
  explicit Buffer(size_t bytes, Touch = Touch::Dense);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_.get()), bytes_ / sizeof(T)};
  }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Unmap> data_{nullptr, Unmap{0}};
  size_t bytes_ = 0;
};

}  // namespace shardwise
