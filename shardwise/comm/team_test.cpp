// Signals and barriers under more threads than cores, at the wrap of their counters, and when closed.
#include "shardwise/comm/team.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

namespace shardwise {
namespace {

using namespace std::chrono_literals;

double cpu_seconds_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void on_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(Signal, ReturnsAtOnceWhenAlreadyThere) {
  Signal signal;
  signal.raise();
  signal.raise();
  EXPECT_EQ(signal.value(), 2u);
  EXPECT_TRUE(signal.wait_for(0));
  EXPECT_TRUE(signal.wait_for(2));
}

TEST(Signal, CarriesWhatWasWrittenBefore) {
  Signal ping, pong;
  uint64_t written = 0;
  on_threads(2, [&](int thread) {
    for (uint32_t i = 1; i <= 20000; ++i) {
      if (thread == 0) {
        written = i;
        ping.raise();
        ASSERT_TRUE(pong.wait_for(i));
      } else {
        ASSERT_TRUE(ping.wait_for(i));
        ASSERT_EQ(written, i);
        pong.raise();
      }
    }
  });
}

TEST(Signal, GoesOnBeyondTheLargestNumber) {
  constexpr uint32_t kFirst = UINT32_MAX - 1000;
  Signal ping(kFirst), pong(kFirst);
  EXPECT_FALSE(int32_t(ping.value() - (kFirst + 1)) >= 0);
  on_threads(2, [&](int thread) {
    for (uint32_t i = 1; i <= 2000; ++i) {
      if (thread == 0) {
        ping.raise();
        ASSERT_TRUE(pong.wait_for(kFirst + i));
      } else {
        ASSERT_TRUE(ping.wait_for(kFirst + i));
        ASSERT_EQ(ping.value(), kFirst + i);
        pong.raise();
      }
    }
  });
  EXPECT_EQ(ping.value(), 999u);
}

TEST(Signal, WakesAllWhoWaitForDifferentNumbers) {
  Signal signal;
  std::atomic<int> returned{0};
  on_threads(9, [&](int thread) {
    if (thread < 8) {
      ASSERT_TRUE(signal.wait_for(uint32_t(thread) + 1));
      ASSERT_GE(signal.value(), uint32_t(thread) + 1);
      returned.fetch_add(1);
    } else {
      for (int i = 0; i < 8; ++i) {
        std::this_thread::sleep_for(1ms);
        EXPECT_LE(returned.load(), i);
        signal.raise();
      }
    }
  });
  EXPECT_EQ(returned.load(), 8);
}

TEST(Signal, ClosedWakesAllAndHoldsNobody) {
  Signal signal;
  on_threads(4, [&](int thread) {
    if (thread > 0) {
      EXPECT_FALSE(signal.wait_for(1000));
    } else {
      std::this_thread::sleep_for(2ms);
      signal.close();
    }
  });
  EXPECT_FALSE(signal.wait_for(0));
  EXPECT_TRUE(signal.closed());
}

TEST(Signal, S06_WhoWaitsLongUsesAlmostNoProcessorTime) {
  Signal signal;
  on_threads(2, [&](int thread) {
    if (thread == 0) {
      std::this_thread::sleep_for(200ms);
      signal.raise();
    } else {
      const double before_s = cpu_seconds_of_this_thread();
      EXPECT_TRUE(signal.wait_for(1));
      EXPECT_LT(cpu_seconds_of_this_thread() - before_s, 0.05 * 0.2);
    }
  });
}

TEST(Barrier, NobodyLeavesBeforeAllHaveCome) {
  for (int size : {1, 2, 3, 5}) {
    Barrier barrier(size);
    std::vector<int> round(size_t(size), 0);
    on_threads(size, [&](int thread) {
      for (int i = 1; i <= 500; ++i) {
        round[size_t(thread)] = i;
        ASSERT_TRUE(barrier.wait());
        for (int other : round) ASSERT_EQ(other, i);
        ASSERT_TRUE(barrier.wait());
      }
    });
  }
}

TEST(Barrier, S06_ManyMoreThreadsThanCoresFinishSoon) {
  const int threads = 8 * int(usable_cores().size());
  constexpr int kRounds = 200;
  Barrier barrier(threads);
  const auto start = std::chrono::steady_clock::now();
  on_threads(threads, [&](int) {
    for (int i = 0; i < kRounds; ++i) ASSERT_TRUE(barrier.wait());
  });
  // A few context switches a thread and round; waiters that spin out their time slices would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
}

TEST(Barrier, ClosedIsPassedByAllOrByNone) {
  for (int run = 0; run < 300; ++run) {
    Barrier barrier(3);
    std::atomic<int> passed{0};
    on_threads(4, [&](int thread) {
      if (thread == 3) {
        for (int i = 0; i < run * 20; ++i) passed.load();  // a little later each run
        barrier.close();
      } else if (barrier.wait()) {
        passed.fetch_add(1);
      }
    });
    ASSERT_TRUE(passed.load() == 0 || passed.load() == 3) << passed.load();
    ASSERT_FALSE(barrier.wait());
  }
}

TEST(Cores, AreThoseThisProcessMayUse) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const std::vector<int> cores = usable_cores();
  EXPECT_EQ(int(cores.size()), CPU_COUNT(&allowed));
  EXPECT_EQ(std::set<int>(cores.begin(), cores.end()).size(), cores.size());
  for (int core : cores) EXPECT_TRUE(CPU_ISSET(core, &allowed));
}

TEST(Cores, APinnedThreadStaysOnItsCoreAndOthersAreFree) {
  const std::vector<int> cores = usable_cores();
  on_threads(1, [&](int) {
    pin_to_core(cores.back());
    EXPECT_EQ(sched_getcpu(), cores.back());
    cpu_set_t bound;
    ASSERT_EQ(sched_getaffinity(0, sizeof bound, &bound), 0);
    EXPECT_EQ(CPU_COUNT(&bound), 1);
    EXPECT_EQ(usable_cores(), cores);
    pin_to_core(1 << 20);  // there is none such: nothing happens
    pin_to_core(-1);
  });
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  EXPECT_EQ(CPU_COUNT(&mine), int(cores.size()));
}

}  // namespace
}  // namespace shardwise
