// What ranks say to one another: bytes and sums. threads.cpp implements Group for ranks that are threads of this
// process; nothing else knows which implementation it has.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "shardwise/mesh/mesh.h"

namespace shardwise {

// The ranks along one mesh axis, in axis order. Every rank of a group makes the same collective calls in the same
// order. Sums are in f64 and in axis order, so that a plan does not change how a sum is rounded. One thread of a rank
// calls at a time.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Parts are uneven and may be empty: `parts` has the bytes of each rank's part, in axis order. All know them from
  // range(), so nobody sends a size. The buffers of one call do not overlap, but for all_gather: `mine` may already lie
  // at its place in `all`.
  using Parts = std::span<const size_t>;
  virtual void all_reduce(std::span<double> inout) = 0;
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all, Parts parts) = 0;
  // out holds a part for each rank (out_parts), in holds the part that each rank made for this one (in_parts).
  virtual void all_to_all(std::span<const std::byte> out, Parts out_parts, std::span<std::byte> in, Parts in_parts) = 0;
  // As all_to_all, and the numbers that arrive are added up: all in_parts have the size of `sum`, which they become.
  virtual void reduce_scatter(std::span<const std::byte> out, Parts out_parts, std::span<double> sum) = 0;

  // Messages between two ranks arrive in the order sent. send returns when the bytes may be overwritten and does not
  // wait for the receiver unless many messages are under way; recv waits for the next message, which has exactly that
  // size. A rank may send to itself.
  virtual void send(std::span<const std::byte> bytes, int to) = 0;
  virtual void recv(std::span<std::byte> bytes, int from) = 0;

  // For a rank that cannot go on: ends all groups of all ranks of these worlds, for good. Whoever waits in a call
  // returns, every later call returns at once, and what they were to fill is unspecified: ask poisoned() before using
  // it. Any thread may call these two at any time.
  virtual void poison() = 0;
  virtual bool poisoned() const = 0;
};

// What one rank knows of the others.
struct World {
  Mesh mesh;
  int rank = 0;
  std::vector<std::unique_ptr<Group>> axis;  // one per mesh axis
};

// Worlds of ranks that are threads of this process, by rank. Each is used by the thread or threads of its rank; they
// may be destroyed once no rank is in a call.
std::vector<World> thread_worlds(const Mesh&);

}  // namespace shardwise
