// Values that live at the same time never share bytes.
#include "shardwise/engine/arena.h"

#include <gtest/gtest.h>

#include "shardwise/engine/box.h"

namespace shardwise {
namespace {

Value vector(int64_t n) { return {.name = "x", .shape = {{Dim::T, 1}, {Dim::D, n}}}; }

TEST(Arena, SharesBytesOnlyBetweenValuesOfDifferentTimes) {
  Program p;
  ValueId x = p.compute({.kind = OpKind::Embed, .in = {}, .out = 0}, vector(100), 0);
  std::vector<std::pair<int, int>> lives = {{0, 1}};
  ValueId kept = x;
  for (int i = 1; i < 40; ++i) {  // a chain, with a branch kept alive for seven steps
    const bool joins = i % 7 == 0;
    x = p.compute({.kind = OpKind::Add, .in = {x, joins ? kept : x}, .out = 0}, vector(40 + i * 13 % 90), 0);
    if (joins) kept = x;
  }
  const ArenaPlan plan = plan_arena(p, 0);
  std::vector<std::pair<int, int>> life(p.values.size(), {-1, -1});
  for (int s = 0; s < int(p.steps.size()); ++s) {
    const auto& c = std::get<Compute>(p.steps[size_t(s)].op);
    auto touch = [&](ValueId v) {
      if (life[size_t(v)].first < 0) life[size_t(v)].first = s;
      life[size_t(v)].second = s;
    };
    for (ValueId in : c.in) touch(in);
    touch(c.out);
  }
  int64_t all = 0;
  for (size_t a = 0; a < life.size(); ++a) {
    const int64_t bytes_a = box(p, ValueId(a), 0).count() * 4;
    all += bytes_a;
    EXPECT_LE(plan.offset[a] + bytes_a, plan.bytes);
    for (size_t b = 0; b < a; ++b) {
      if (life[a].first > life[b].second || life[b].first > life[a].second) continue;
      const int64_t bytes_b = box(p, ValueId(b), 0).count() * 4;
      EXPECT_TRUE(plan.offset[a] + bytes_a <= plan.offset[b] || plan.offset[b] + bytes_b <= plan.offset[a])
          << a << " and " << b;
    }
  }
  EXPECT_LT(plan.bytes, all / 4);  // and bytes are shared where they can be
}

}  // namespace
}  // namespace shardwise
