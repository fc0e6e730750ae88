// For tests of Group: the implementations under test, and ranks to run them on.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "shardwise/comm/comm.h"

namespace shardwise {

// A mesh of one axis for each size, all parts even.
inline Mesh mesh_of(const std::vector<int>& sizes) {
  Mesh mesh;
  for (int size : sizes) {
    mesh.axes.push_back({"axis" + std::to_string(mesh.axes.size()), size, std::vector<int>(size_t(size), 1)});
  }
  return mesh;
}

// Runs `body` once for each rank, all at the same time, and returns when all are done.
inline void on_ranks(std::vector<World>& worlds, const std::function<void(World&)>& body) {
  std::vector<std::thread> threads;
  for (World& world : worlds) threads.emplace_back([&] { body(world); });
  for (std::thread& thread : threads) thread.join();
}

// As above with new worlds of a mesh of one axis; the body sees its group.
inline void on_group(int size, const std::function<void(Group&)>& body) {
  std::vector<World> worlds = thread_worlds(mesh_of({size}));
  on_ranks(worlds, [&](World& world) { body(*world.axis[0]); });
}

inline std::span<const std::byte> bytes_of(const std::vector<double>& floats) {
  return std::as_bytes(std::span(floats));
}
inline std::span<std::byte> bytes_of(std::vector<double>& floats) { return std::as_writable_bytes(std::span(floats)); }

// A value that tells rank, receiver, place and call apart, and whose sums depend on their order.
inline double sample(int from, int to, size_t i, int call = 0) {
  const uint32_t mixed = (uint32_t(from) * 2654435761u) ^ (uint32_t(to) * 40503u) ^ (uint32_t(i) * 2246822519u) ^
                         (uint32_t(call) * 3266489917u);
  return (double(mixed >> 8) - 8388608.0f) * (from % 2 ? 1e-3f : 1.7f);
}

}  // namespace shardwise
