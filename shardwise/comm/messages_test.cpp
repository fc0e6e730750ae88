// send and recv: order, no deadlock however large the messages, and bounds; and what is left when a rank gives up.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "shardwise/comm/group_test.h"

namespace shardwise {
namespace {

using namespace std::chrono_literals;

std::vector<double> numbered(size_t count, int number) { return std::vector<double>(count, double(number)); }

TEST(Messages, ArriveInTheOrderSent) {
  on_group(2, [](Group& group) {
    for (int i = 0; i < 10000; ++i) {
      const size_t count = size_t(i % 7);  // some are empty
      if (group.rank() == 0) {
        group.send(bytes_of(numbered(count, i)), 1);
      } else {
        std::vector<double> got(count);
        group.recv(bytes_of(got), 0);
        ASSERT_EQ(got, numbered(count, i));
      }
    }
  });
}

TEST(Messages, OfEachPairAreTheirOwn) {
  constexpr int kRanks = 4;
  on_group(kRanks, [](Group& group) {
    for (int i = 0; i < 300; ++i) {
      for (int to = 0; to < kRanks; ++to)
        group.send(bytes_of(numbered(20, group.rank() * 1000 + to * 100 + i % 50)), to);
      for (int from = kRanks - 1; from >= 0; --from) {
        std::vector<double> got(20);
        group.recv(bytes_of(got), from);
        ASSERT_EQ(got, numbered(20, from * 1000 + group.rank() * 100 + i % 50));
      }
    }
  });
}

TEST(Messages, S01_BothDirectionsAtOnceWithMessagesLargerThanAnyBuffer) {
  constexpr size_t kCount = (size_t(66) << 20) / sizeof(double);
  on_group(2, [](Group& group) {
    const int peer = 1 - group.rank();
    for (int i = 0; i < 2; ++i) {
      std::vector<double> bulk = numbered(kCount, group.rank() * 10 + i);
      group.send(bytes_of(bulk), peer);
      bulk.assign(kCount, -1.0f);
      group.recv(bytes_of(bulk), peer);
      ASSERT_EQ(bulk.front(), double(peer * 10 + i));
      ASSERT_EQ(bulk.back(), double(peer * 10 + i));
    }
  });
}

TEST(Messages, SixtyFourGoOutBeforeAnyIsTaken) {
  std::vector<World> worlds = thread_worlds(mesh_of({2}));
  Group& sender = *worlds[0].axis[0];
  Group& receiver = *worlds[1].axis[0];
  for (int i = 0; i < 64; ++i) sender.send(bytes_of(numbered(30, i)), 1);
  for (int i = 0; i < 64; ++i) {
    std::vector<double> got(30);
    receiver.recv(bytes_of(got), 0);
    ASSERT_EQ(got, numbered(30, i));
  }
}

TEST(Messages, AFastSenderWaitsForASlowReceiver) {
  std::atomic<int> sent{0};
  on_group(2, [&](Group& group) {
    if (group.rank() == 0) {
      for (int i = 0; i < 500; ++i) {
        group.send(bytes_of(numbered(3, i)), 1);
        sent.fetch_add(1);
      }
    } else {
      std::this_thread::sleep_for(20ms);
      EXPECT_LT(sent.load(), 500);
      for (int i = 0; i < 500; ++i) {
        std::vector<double> got(3);
        group.recv(bytes_of(got), 0);
        ASSERT_EQ(got, numbered(3, i));
      }
    }
  });
  EXPECT_EQ(sent.load(), 500);
}

TEST(Poison, SendsHomeWhoWaitsInAnyCallOfAnyGroup) {
  std::vector<World> worlds = thread_worlds(mesh_of({2, 3}));
  on_ranks(worlds, [](World& world) {
    std::vector<double> floats(world.rank % 2 ? 100 : 100000);
    const std::vector<size_t> parts(3, 0);
    switch (world.rank) {
      case 0: world.axis[1]->all_reduce(floats); break;
      case 1: world.axis[1]->recv(bytes_of(floats), 2); break;
      case 2: {
        std::this_thread::sleep_for(5ms);
        world.axis[0]->poison();
        break;
      }
      case 3: world.axis[0]->all_gather({}, {}, std::vector<size_t>(2, 0)); break;
      case 4:
        for (int i = 0; i < 1000; ++i) world.axis[1]->send(bytes_of(floats), 2);
        break;
      case 5: world.axis[1]->all_to_all({}, parts, {}, parts); break;
    }
    EXPECT_TRUE(world.axis[0]->poisoned());
    EXPECT_TRUE(world.axis[1]->poisoned());
    world.axis[0]->all_reduce(floats);  // nobody is left to wait for
    world.axis[1]->recv(bytes_of(floats), 0);
  });
}

// At whatever moment it strikes, no rank hangs, and none touches the buffer of a rank that is gone.
TEST(Poison, AtAnyMomentOfAnyCall) {
  for (int run = 0; run < 100; ++run) {
    std::atomic<bool> struck{false};
    on_group(3, [&](Group& group) {
      for (int i = 0; !group.poisoned(); ++i) {
        std::vector<double> floats(i % 2 ? 64 : 20000, 1.0f);
        group.all_reduce(floats);
        group.send(bytes_of(floats), (group.rank() + 1) % 3);
        group.recv(bytes_of(floats), (group.rank() + 2) % 3);
        if (group.rank() == run % 3 && i == run % 20 && !struck.exchange(true)) group.poison();
      }
    });
    ASSERT_TRUE(struck.load());
  }
}

}  // namespace
}  // namespace shardwise
