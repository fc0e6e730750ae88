// Group for ranks that are threads of this process: they read one another's buffers in place, between two barriers, or
// leave small parts in shared slots, which takes one. Every element is summed in axis order by somebody, whoever it is.
#include <algorithm>
#include <array>
#include <cstring>

#include "shardwise/base/check.h"
#include "shardwise/comm/comm.h"
#include "shardwise/comm/team.h"

namespace shardwise {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kLineNumbers = kLine / sizeof(double);
constexpr size_t kTileNumbers = 512;  // what is summed at once stays in the first cache
constexpr size_t kSmallBytes = size_t(32)
                               << 10;  // of all slots of a group: up to here a copy is cheaper than a barrier
constexpr uint32_t kMessages = 64;     // under way from one rank to another; divides 2^32
constexpr size_t kMessageBytes = size_t(64) << 20;

enum class Call : uint8_t { None, AllReduce, AllGather, AllToAll, ReduceScatter };

void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

void add(double* __restrict to, const double* __restrict from, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] += from[i];
}

// to[0, count) = from(0) + from(1) + ..., in this order. `to` may be from(0) itself.
template <class From>
void sum(double* to, size_t count, int size, const From& from) {
  for (size_t start = 0; start < count; start += kTileNumbers) {
    const size_t tile = std::min(kTileNumbers, count - start);
    copy_bytes(reinterpret_cast<std::byte*>(to + start), reinterpret_cast<const std::byte*>(from(0) + start),
               tile * sizeof(double));
    for (int r = 1; r < size; ++r) add(to + start, from(r) + start, tile);
  }
}

// What a rank brings to a call, for the others to read between arrival and the next call but one.
struct alignas(kLine) Offer {
  Call call = Call::None;
  const std::byte* bytes = nullptr;
  std::span<const size_t> parts;
};

// The messages from one rank to another. Slot i modulo kMessages holds message i and is the
// receiver's from when it is sent until it is taken, otherwise the sender's.
class Channel {
 public:
  void send(std::span<const std::byte> bytes);
  void recv(std::span<std::byte> bytes);
  void close();

 private:
  struct Message {
    std::unique_ptr<std::byte[]> room;
    size_t room_bytes = 0;
    size_t bytes = 0;
  };
  Message& slot(uint32_t index) { return slots_[index % kMessages]; }
  bool wait_for_room(size_t bytes);

  std::array<Message, kMessages> slots_;
  alignas(kLine) Signal sent_;
  // The sender's: messages sent, those of them whose bytes are no longer in under_way_ since they were taken.
  uint32_t sends_ = 0, settled_ = 0;
  size_t under_way_ = 0;
  alignas(kLine) Signal taken_;
  uint32_t recvs_ = 0;  // the receiver's
};

// False when the channel was closed. One message, of whatever size, always finds room.
bool Channel::wait_for_room(size_t bytes) {
  for (;;) {
    const uint32_t taken = taken_.value();
    if (taken_.closed()) return false;
    for (; settled_ != taken; ++settled_) under_way_ -= slot(settled_).bytes;
    const uint32_t count = sends_ - settled_;
    if (count == 0 || (count < kMessages && under_way_ + bytes <= kMessageBytes)) return true;
    if (!taken_.wait_for(settled_ + 1)) return false;
  }
}

void Channel::send(std::span<const std::byte> bytes) {
  if (!wait_for_room(bytes.size())) return;
  Message& message = slot(sends_++);
  // The room emptied last serves again, so that there are only as many as messages were ever under way at once.
  Message& last = slot(settled_ - 1);
  if (last.room_bytes >= bytes.size() || last.room_bytes > message.room_bytes) {
    std::swap(message.room, last.room);
    std::swap(message.room_bytes, last.room_bytes);
  }
  if (message.room_bytes < bytes.size()) {
    message.room = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
    message.room_bytes = bytes.size();
  }
  message.bytes = bytes.size();
  under_way_ += bytes.size();
  copy_bytes(message.room.get(), bytes.data(), bytes.size());
  sent_.raise();
}

void Channel::recv(std::span<std::byte> bytes) {
  if (!sent_.wait_for(recvs_ + 1)) return;
  const Message& message = slot(recvs_++);
  CHECK(message.bytes == bytes.size(), "a message of {} bytes arrived where {} were awaited", message.bytes,
        bytes.size());
  copy_bytes(bytes.data(), message.room.get(), bytes.size());
  taken_.raise();
}

void Channel::close() {
  sent_.close();
  taken_.close();
}

// What the ranks of one group share.
struct Meeting {
  explicit Meeting(int ranks)
      : size(ranks),
        arrived(ranks),
        left(ranks),
        offers(2 * size_t(ranks)),
        slot_bytes(kSmallBytes / size_t(ranks) / kLine * kLine),
        slots(2 * kSmallBytes / kLine),
        channels(size_t(ranks) * size_t(ranks)) {}

  struct alignas(kLine) Line {
    std::byte bytes[kLine];
  };

  const int size;
  Barrier arrived;
  Barrier left;  // never closed: whoever arrived with all others will leave, and nobody's buffer goes before that
  std::vector<Offer> offers;
  const size_t slot_bytes;
  std::vector<Line> slots;
  std::vector<Channel> channels;  // [from][to]
};

// All meetings of all axes.
struct House {
  std::vector<std::unique_ptr<Meeting>> meetings;
  std::atomic<bool> poisoned{false};

  void poison() {
    poisoned.store(true, std::memory_order_release);
    for (const auto& meeting : meetings) {
      meeting->arrived.close();
      for (Channel& channel : meeting->channels) channel.close();
    }
  }
};

class ThreadGroup final : public Group {
 public:
  ThreadGroup(std::shared_ptr<House> house, Meeting& meeting, int rank)
      : house_(std::move(house)), meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_.size; }

  void all_reduce(std::span<double> inout) override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all, Parts parts) override;
  void all_to_all(std::span<const std::byte> out, Parts out_parts, std::span<std::byte> in, Parts in_parts) override;
  void reduce_scatter(std::span<const std::byte> out, Parts out_parts, std::span<double> sum) override;
  void send(std::span<const std::byte> bytes, int to) override { channel(rank_, to).send(bytes); }
  void recv(std::span<std::byte> bytes, int from) override { channel(from, rank_).recv(bytes); }

  void poison() override { house_->poison(); }
  bool poisoned() const override { return house_->poisoned.load(std::memory_order_acquire); }

 private:
  bool arrive(Call call, const std::byte* bytes, Parts parts);
  void leave() { meeting_.left.wait(); }

  const Offer& offer(int rank) const { return meeting_.offers[half_ * size_t(size()) + size_t(rank)]; }
  std::byte* slot(int rank) const {
    return meeting_.slots[half_ * kSmallBytes / kLine].bytes + size_t(rank) * meeting_.slot_bytes;
  }
  const std::byte* part_for_me(int rank, size_t bytes) const;
  Channel& channel(int from, int to) const;

  std::shared_ptr<House> house_;
  Meeting& meeting_;
  const int rank_;
  // Offers and slots of one call are read while those of the next are written, so there are two of each. When a third
  // call begins, all have arrived at the second and so have read those of the first.
  size_t half_ = 0;
};

// Shows the others what this rank brings and waits for theirs. False when they will not come.
bool ThreadGroup::arrive(Call call, const std::byte* bytes, Parts parts) {
  meeting_.offers[half_ * size_t(size()) + size_t(rank_)] = {call, bytes, parts};
  if (!meeting_.arrived.wait()) return false;
  for (int r = 0; r < size(); ++r) {
    CHECK(offer(r).call == call, "rank {} of a group makes collective {} while rank {} makes {}", rank_, int(call), r,
          int(offer(r).call));
  }
  return true;
}

void ThreadGroup::all_reduce(std::span<double> inout) {
  if (size() == 1 || inout.empty()) return;
  half_ ^= 1;
  auto* mine = reinterpret_cast<std::byte*>(inout.data());
  const size_t bytes = inout.size_bytes();
  const bool small = bytes <= meeting_.slot_bytes;
  if (small) copy_bytes(slot(rank_), mine, bytes);
  if (!arrive(Call::AllReduce, small ? slot(rank_) : mine, {&bytes, 1})) return;
  const auto from = [&](int r) { return reinterpret_cast<const double*>(offer(r).bytes); };
  if (small) {
    sum(inout.data(), inout.size(), size(), from);
    return;
  }

  const size_t lines = (inout.size() + kLineNumbers - 1) / kLineNumbers;
  const auto cut = [&](int r) { return std::min(inout.size(), lines * size_t(r) / size_t(size()) * kLineNumbers); };
  const size_t start = cut(rank_), count = cut(rank_ + 1) - start;
  auto* first = const_cast<double*>(from(0)) + start;
  for (size_t done = 0; done < count; done += kTileNumbers) {
    const size_t tile = std::min(kTileNumbers, count - done);
    sum(first + done, tile, size(), [&](int r) { return from(r) + start + done; });
    for (int r = 1; r < size(); ++r) {
      copy_bytes(reinterpret_cast<std::byte*>(const_cast<double*>(from(r)) + start + done),
                 reinterpret_cast<const std::byte*>(first + done), tile * sizeof(double));
    }
  }
  leave();
}

void ThreadGroup::all_gather(std::span<const std::byte> mine, std::span<std::byte> all, Parts parts) {
  CHECK(parts.size() == size_t(size()) && parts[size_t(rank_)] == mine.size(),
        "all_gather of {} parts on {} ranks, where rank {} brings {} bytes", parts.size(), size(), rank_, mine.size());
  half_ ^= 1;
  const bool small = std::ranges::all_of(parts, [&](size_t bytes) { return bytes <= meeting_.slot_bytes; });
  if (small) copy_bytes(slot(rank_), mine.data(), mine.size());
  if (!arrive(Call::AllGather, small ? slot(rank_) : mine.data(), parts)) return;
  size_t start = 0;
  for (int r = 0; r < size(); ++r) {
    const size_t bytes = parts[size_t(r)];
    CHECK(start + bytes <= all.size(), "all_gather into {} bytes, and there are more", all.size());
    copy_bytes(all.data() + start, r == rank_ ? mine.data() : offer(r).bytes, bytes);
    start += bytes;
  }
  if (!small) leave();
}

// Where in the offer of `rank` the part for this rank begins.
const std::byte* ThreadGroup::part_for_me(int rank, size_t bytes) const {
  const Offer& theirs = offer(rank);
  size_t start = 0;
  for (int r = 0; r < rank_; ++r) start += theirs.parts[size_t(r)];
  CHECK(theirs.parts[size_t(rank_)] == bytes, "rank {} awaits {} bytes of rank {}, which brings {}", rank_, bytes, rank,
        theirs.parts[size_t(rank_)]);
  return theirs.bytes + start;
}

void ThreadGroup::all_to_all(std::span<const std::byte> out, Parts out_parts, std::span<std::byte> in, Parts in_parts) {
  CHECK(out_parts.size() == size_t(size()) && in_parts.size() == size_t(size()),
        "all_to_all of {} and {} parts on {} ranks", out_parts.size(), in_parts.size(), size());
  half_ ^= 1;
  if (!arrive(Call::AllToAll, out.data(), out_parts)) return;
  size_t start = 0;
  for (int r = 0; r < size(); ++r) {
    const size_t bytes = in_parts[size_t(r)];
    CHECK(start + bytes <= in.size(), "all_to_all into {} bytes, and there are more", in.size());
    copy_bytes(in.data() + start, part_for_me(r, bytes), bytes);
    start += bytes;
  }
  leave();
}

void ThreadGroup::reduce_scatter(std::span<const std::byte> out, Parts out_parts, std::span<double> total) {
  CHECK(out_parts.size() == size_t(size()), "reduce_scatter of {} parts on {} ranks", out_parts.size(), size());
  half_ ^= 1;
  if (!arrive(Call::ReduceScatter, out.data(), out_parts)) return;
  if (!total.empty()) {
    sum(total.data(), total.size(), size(),
        [&](int r) { return reinterpret_cast<const double*>(part_for_me(r, total.size_bytes())); });
  }
  leave();
}

Channel& ThreadGroup::channel(int from, int to) const {
  CHECK(from >= 0 && from < size() && to >= 0 && to < size(), "a message from {} to {} in a group of {}", from, to,
        size());
  return meeting_.channels[size_t(from) * size_t(size()) + size_t(to)];
}

}  // namespace

std::vector<World> thread_worlds(const Mesh& mesh) {
  const auto house = std::make_shared<House>();
  std::vector<World> worlds(size_t(mesh.ranks()));
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    worlds[size_t(rank)].mesh = mesh;
    worlds[size_t(rank)].rank = rank;
  }
  for (int axis = 0; axis < int(mesh.axes.size()); ++axis) {
    for (int first = 0; first < mesh.ranks(); ++first) {
      if (mesh.coord(first, axis) != 0) continue;
      Meeting& meeting = *house->meetings.emplace_back(std::make_unique<Meeting>(mesh.size(axis)));
      for (int rank : mesh.group(first, axis)) {
        worlds[size_t(rank)].axis.push_back(std::make_unique<ThreadGroup>(house, meeting, mesh.coord(rank, axis)));
      }
    }
  }
  return worlds;
}

}  // namespace shardwise
