// Every collective, on groups of every size under test, against the answer computed plainly by one thread.
#include "shardwise/comm/group_test.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>

namespace shardwise {
namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// In axis order, which is what makes the bits repeat.
std::vector<double> plain_sum(int size, int to, size_t count, int call = 0) {
  std::vector<double> sum(count);
  for (size_t i = 0; i < count; ++i) {
    sum[i] = sample(0, to, i, call);
    for (int r = 1; r < size; ++r) sum[i] += sample(r, to, i, call);
  }
  return sum;
}

std::vector<double> samples(int from, int to, size_t count, int call = 0) {
  std::vector<double> made(count);
  for (size_t i = 0; i < count; ++i) made[i] = sample(from, to, i, call);
  return made;
}

void append(std::vector<double>& to, const std::vector<double>& more) { to.insert(to.end(), more.begin(), more.end()); }

// How many floats `from` has for `to`: uneven, and of some nothing.
size_t uneven(int from, int to, size_t scale) {
  return size_t((from * 3 + to * 5) % 4) * scale + (scale > 1 ? size_t(to % 3) : 0);
}

class GroupSuite : public testing::TestWithParam<int> {
 protected:
  int size() const { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Threads, GroupSuite, testing::Values(1, 2, 3, 4, 8));

void check_all_reduce(Group& group, size_t count, int call) {
  std::vector<double> mine = samples(group.rank(), 0, count, call);
  group.all_reduce(mine);
  EXPECT_TRUE(same_bits(mine, plain_sum(group.size(), 0, count, call))) << count << " floats, rank " << group.rank();
}

void check_all_gather(Group& group, size_t scale, int call, bool in_place) {
  std::vector<size_t> parts;
  std::vector<double> right;
  size_t before = 0;
  for (int r = 0; r < group.size(); ++r) {
    const size_t count = uneven(r, 0, scale);
    if (r == group.rank()) before = right.size();
    parts.push_back(count * sizeof(double));
    append(right, samples(r, 0, count, call));
  }
  const std::vector<double> mine = samples(group.rank(), 0, uneven(group.rank(), 0, scale), call);
  std::vector<double> all(right.size(), -1.0f);
  if (in_place) {
    std::copy(mine.begin(), mine.end(), all.begin() + std::ptrdiff_t(before));
    const auto place = bytes_of(all).subspan(before * sizeof(double), mine.size() * sizeof(double));
    group.all_gather(place, bytes_of(all), parts);
  } else {
    group.all_gather(bytes_of(mine), bytes_of(all), parts);
  }
  EXPECT_TRUE(same_bits(all, right)) << "scale " << scale << ", rank " << group.rank();
}

void check_all_to_all(Group& group, size_t scale, int call) {
  std::vector<size_t> out_parts, in_parts;
  std::vector<double> out, right;
  for (int r = 0; r < group.size(); ++r) {
    out_parts.push_back(uneven(group.rank(), r, scale) * sizeof(double));
    in_parts.push_back(uneven(r, group.rank(), scale) * sizeof(double));
    append(out, samples(group.rank(), r, uneven(group.rank(), r, scale), call));
    append(right, samples(r, group.rank(), uneven(r, group.rank(), scale), call));
  }
  std::vector<double> in(right.size(), -1.0f);
  group.all_to_all(bytes_of(out), out_parts, bytes_of(in), in_parts);
  EXPECT_TRUE(same_bits(in, right)) << "scale " << scale << ", rank " << group.rank();
}

void check_reduce_scatter(Group& group, size_t scale, int call) {
  std::vector<size_t> parts;
  std::vector<double> out;
  for (int r = 0; r < group.size(); ++r) {
    parts.push_back(uneven(0, r, scale) * sizeof(double));
    append(out, samples(group.rank(), r, uneven(0, r, scale), call));
  }
  std::vector<double> sum(uneven(0, group.rank(), scale), -1.0f);
  group.reduce_scatter(bytes_of(out), parts, sum);
  EXPECT_TRUE(same_bits(sum, plain_sum(group.size(), group.rank(), sum.size(), call)))
      << "scale " << scale << ", rank " << group.rank();
}

TEST_P(GroupSuite, KnowsItsRankAndSize) {
  std::atomic<int> seen{0};
  on_group(size(), [&](Group& group) {
    EXPECT_EQ(group.size(), size());
    seen.fetch_add(1 << group.rank());
  });
  EXPECT_EQ(seen.load(), (1 << size()) - 1);
}

TEST_P(GroupSuite, AllReduceAddsInAxisOrder) {
  on_group(size(), [](Group& group) {
    int call = 0;
    for (size_t count : {0, 1, 15, 16, 17, 576, 1000, 4096, 8192, 8193, 20011, 262144})
      check_all_reduce(group, count, ++call);
  });
}

TEST_P(GroupSuite, AllReduceAtAnyAlignment) {
  on_group(size(), [](Group& group) {
    for (size_t shift : {1, 3, 7}) {
      const size_t count = 30000;
      std::vector<double> room(count + 8, 9.0f);
      const std::span<double> mine(room.data() + (shift + size_t(group.rank())) % 8, count);
      const std::vector<double> given = samples(group.rank(), 0, count);
      std::copy(given.begin(), given.end(), mine.begin());
      group.all_reduce(mine);
      EXPECT_TRUE(same_bits({mine.begin(), mine.end()}, plain_sum(group.size(), 0, count)));
      EXPECT_EQ(std::count(room.begin(), room.end(), 9.0f), 8) << "wrote beside its buffer";
    }
  });
}

TEST_P(GroupSuite, AllGatherOfUnevenAndEmptyParts) {
  on_group(size(), [](Group& group) {
    int call = 0;
    for (size_t scale : {0, 1, 50, 3000, 40000}) {
      check_all_gather(group, scale, ++call, false);
      check_all_gather(group, scale, ++call, true);
    }
  });
}

TEST_P(GroupSuite, AllToAllOfUnevenAndEmptyParts) {
  on_group(size(), [](Group& group) {
    int call = 0;
    for (size_t scale : {0, 1, 50, 3000, 40000}) check_all_to_all(group, scale, ++call);
  });
}

TEST_P(GroupSuite, ReduceScatterOfUnevenAndEmptyParts) {
  on_group(size(), [](Group& group) {
    int call = 0;
    for (size_t scale : {0, 1, 50, 3000, 40000}) check_reduce_scatter(group, scale, ++call);
  });
}

TEST_P(GroupSuite, TheSameBitsInEveryRunAndOnEveryRank) {
  for (size_t count : {577, 40003}) {
    std::mutex lock;
    std::vector<std::vector<double>> results;
    for (int run = 0; run < 50; ++run) {
      on_group(size(), [&](Group& group) {
        std::vector<double> mine = samples(group.rank(), 0, count);
        group.all_reduce(mine);
        const std::lock_guard guard(lock);
        results.push_back(std::move(mine));
      });
    }
    for (const auto& result : results) ASSERT_TRUE(same_bits(result, results.front()));
  }
}

// Small and large calls of all kinds in any order: what one leaves behind must not disturb the next.
void check_random_calls(Group& group, uint32_t seed, int calls) {
  for (int call = 0; call < calls; ++call) {
    seed = seed * 1664525u + 1013904223u;
    const size_t scale = (seed >> 20) % 8 == 0 ? 9000 : (seed >> 12) % 700;
    switch ((seed >> 28) % 6) {
      case 0: check_all_reduce(group, scale, call); break;
      case 1: check_all_gather(group, scale, call, call % 2 == 0); break;
      case 2: check_all_to_all(group, scale, call); break;
      case 3: check_reduce_scatter(group, scale, call); break;
      case 4: check_all_reduce(group, 1 + scale % 32, call); break;
      default: {
        const int next = (group.rank() + 1) % group.size(), previous = (group.rank() + group.size() - 1) % group.size();
        group.send(bytes_of(samples(group.rank(), next, scale, call)), next);
        std::vector<double> got(scale);
        group.recv(bytes_of(got), previous);
        EXPECT_TRUE(same_bits(got, samples(previous, group.rank(), scale, call)));
      }
    }
  }
}

RC_GTEST_PROP(Groups, AnySequenceOfCallsGivesThePlainAnswers, ()) {
  const int size = *rc::gen::element(1, 2, 3, 4, 5, 8);
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  on_group(size, [&](Group& group) { check_random_calls(group, seed, 12); });
}

TEST(Groups, OfAMeshSumAlongTheirOwnAxisOnly) {
  std::vector<World> worlds = thread_worlds(mesh_of({2, 3}));
  ASSERT_EQ(worlds.size(), 6u);
  on_ranks(worlds, [](World& world) {
    ASSERT_EQ(world.axis.size(), 2u);
    for (int axis = 0; axis < 2; ++axis) {
      EXPECT_EQ(world.axis[size_t(axis)]->rank(), world.mesh.coord(world.rank, axis));
      EXPECT_EQ(world.axis[size_t(axis)]->size(), world.mesh.size(axis));
    }
    for (int round = 0; round < 200; ++round) {
      std::vector<double> along_major(100, double(1 << world.rank)), along_minor = along_major;
      world.axis[0]->all_reduce(along_major);
      world.axis[1]->all_reduce(along_minor);
      int major = 0, minor = 0;
      for (int member : world.mesh.group(world.rank, 0)) major += 1 << member;
      for (int member : world.mesh.group(world.rank, 1)) minor += 1 << member;
      EXPECT_EQ(along_major, std::vector<double>(100, double(major)));
      EXPECT_EQ(along_minor, std::vector<double>(100, double(minor)));
      // One after the other is the sum of all.
      world.axis[1]->all_reduce(along_major);
      EXPECT_EQ(along_major, std::vector<double>(100, 63.0f));
    }
  });
}

TEST(Groups, OfAMeshWithoutAxesAreNone) {
  const std::vector<World> worlds = thread_worlds(Mesh{});
  ASSERT_EQ(worlds.size(), 1u);
  EXPECT_TRUE(worlds[0].axis.empty());
}

TEST(GroupsDeath, RanksThatMakeDifferentCallsAreOurMistake) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(on_group(2,
                        [](Group& group) {
                          std::vector<double> floats(4), sum(2);
                          const std::vector<size_t> parts = {8, 8};
                          if (group.rank() == 0) group.all_reduce(floats);
                          if (group.rank() == 1) group.reduce_scatter(bytes_of(floats), parts, sum);
                        }),
               "makes collective");
}

}  // namespace
}  // namespace shardwise
