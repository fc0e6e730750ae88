// One file mapped read-only. Its bytes stay readable for the life of the object even if somebody cuts the file short
// meanwhile: lost pages then read as zeros and verify_unchanged() says so, where an unguarded map would kill the
// process.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "shardwise/base/result.h"

namespace shardwise {

class Mapping {
 public:
  // Errors: absent, not a regular file, empty, not readable.
  static Result<Mapping> open(const std::string& path);

  Mapping(Mapping&&) noexcept;
  Mapping& operator=(Mapping&&) noexcept;
  ~Mapping();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // That the file still has the size and time of change that it had when opened, and that no page of it was lost.
  Status verify_unchanged() const;

  // No read-ahead around a touched page: a rank brings in what it asks for and nothing else.
  void expect_random_access() const;
  // Hints on a part of bytes(): bring it in now, in the background; forget it (a later touch reads it again).
  Status prefetch(std::span<const std::byte> part) const;
  Status release(std::span<const std::byte> part) const;

 private:
  Mapping() = default;
  void close();

  std::string path_;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
  struct stat opened_ {};
  int guard_slot_ = -1;
};

}  // namespace shardwise
