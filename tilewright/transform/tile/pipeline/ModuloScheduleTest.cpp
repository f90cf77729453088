#include "tilewright/transform/tile/pipeline/ModuloSchedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>
#include <random>

namespace tilewright::pipeline {
namespace {

using ::testing::HasSubstr;

TEST(ModuloSchedule, UnitWithMostWorkSetsTheInterval) {
  Loop loop{{{"copy"}, {"tensor core"}},
            {{"a", 0, 100, 1000}, {"b", 0, 200, 1000}, {"dot", 1, 512, 600}},
            {}};
  loop.dependences = {{0, 2, 1000}, {1, 2, 1000}, {2, 2, 512, 1}};

  EXPECT_EQ(resourceBound(loop).interval, 512);
  EXPECT_EQ(resourceBound(loop).unit, 1u);
  std::optional<Schedule> schedule = moduloSchedule(loop);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->interval, 512);
  EXPECT_EQ(findViolation(loop, *schedule), std::nullopt);
  // One copy waits for the other, and the product waits for the later of them.
  EXPECT_EQ(schedule->start[2], 1100);
}

TEST(ModuloSchedule, CycleOfDependencesSetsTheInterval) {
  // x[i] = f(g(x[i - 2])): 7 cycles for two iterations.
  Loop loop{{{"lanes", 4}}, {{"g", 0, 1, 3}, {"f", 0, 1, 4}}, {{0, 1, 3}, {1, 0, 4, 2}}};
  EXPECT_EQ(recurrenceBound(loop), 4);
  EXPECT_EQ(moduloSchedule(loop)->interval, 4);
}

TEST(ModuloSchedule, CircleWithinAnIterationHasNoSchedule) {
  Loop loop{{{"lanes"}}, {{"g", 0, 1, 3}, {"f", 0, 1, 4}}, {{0, 1, 3}, {1, 0, 4}}};
  EXPECT_EQ(recurrenceBound(loop), std::nullopt);
  EXPECT_EQ(moduloSchedule(loop), std::nullopt);
}

TEST(ModuloSchedule, SeveralUnitsOfAKindShareTheWork) {
  Loop loop{{{"lanes", 2}}, {{"a", 0, 4, 4}, {"b", 0, 4, 4}, {"c", 0, 2, 4}, {"d", 0, 2, 4}}, {}};
  std::optional<Schedule> schedule = moduloSchedule(loop);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->interval, 6);
  EXPECT_EQ(findViolation(loop, *schedule), std::nullopt);
}

TEST(ModuloSchedule, ViolationsAreNamed) {
  Loop loop{{{"copy"}}, {{"a", 0, 4, 10}, {"b", 0, 4, 4}}, {{0, 1, 10}}};
  EXPECT_THAT(*findViolation(loop, {8, {0, 4}}),
              HasSubstr("b starts 4 cycles after a, but must start at least 10 after it"));
  EXPECT_THAT(*findViolation(loop, {8, {0, 16}}), HasSubstr("copy is busy with 1 ops at cycle 0"));
  EXPECT_EQ(findViolation(loop, {8, {0, 12}}), std::nullopt);
}

/// The shortest interval by trying every start within `window`.
int64_t bruteForce(const Loop &loop, int64_t lowest) {
  for (int64_t interval = lowest;; ++interval) {
    Schedule schedule{interval, llvm::SmallVector<int64_t>(loop.ops.size(), 0)};
    int64_t window = interval;
    for (const Dependence &dependence : loop.dependences)
      window += dependence.latency;
    std::function<bool(size_t)> place = [&](size_t op) {
      if (op == loop.ops.size())
        return !findViolation(loop, schedule);
      // Schedules are invariant under translation, so the first op is tried only within one
      // interval.
      for (schedule.start[op] = 0; schedule.start[op] < window; ++schedule.start[op]) {
        bool kept = true;
        for (const Dependence &d : loop.dependences)
          if (d.from <= op && d.to <= op &&
              schedule.start[d.to] + interval * d.distance < schedule.start[d.from] + d.latency)
            kept = false;
        if (kept && place(op + 1))
          return true;
      }
      return false;
    };
    if (place(0))
      return interval;
  }
}

TEST(ModuloSchedule, RandomLoopsAreLegalAndAsShortAsBruteForce) {
  std::mt19937 random(6);
  auto upTo = [&](int64_t most) { return int64_t(random() % (most + 1)); };
  int optimal = 0, total = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Loop loop;
    for (int unit = 0; unit <= upTo(1); ++unit)
      loop.units.push_back({"u" + std::to_string(unit), 1 + upTo(1)});
    int ops = 2 + upTo(2);
    for (int op = 0; op < ops; ++op)
      loop.ops.push_back({"o" + std::to_string(op), unsigned(upTo(loop.units.size() - 1)),
                          1 + upTo(2), 1 + upTo(4)});
    for (int edge = 0; edge < ops; ++edge) {
      unsigned from = upTo(ops - 1), to = upTo(ops - 1);
      loop.dependences.push_back(
          {from, to, loop.ops[from].latency, from < to ? upTo(1) : 1 + upTo(1)});
    }
    std::optional<Schedule> schedule = moduloSchedule(loop);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(findViolation(loop, *schedule), std::nullopt);
    int64_t lowest = std::max(resourceBound(loop).interval, *recurrenceBound(loop));
    EXPECT_GE(schedule->interval, lowest);
    int64_t best = bruteForce(loop, lowest);
    EXPECT_GE(schedule->interval, best);
    EXPECT_LE(schedule->interval, best + 2) << "trial " << trial;
    optimal += schedule->interval == best;
    ++total;
  }
  // The search is a heuristic, but rarely exceeds the optimal interval.
  EXPECT_GE(optimal, total * 98 / 100) << optimal << " of " << total;
}

TEST(ModuloSchedule, LargeRandomLoopsAreLegal) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 20; ++trial) {
    Loop loop{{{"copy"}, {"tensor core"}, {"lanes", 4}}, {}, {}};
    for (int op = 0; op < 40; ++op)
      loop.ops.push_back({"o" + std::to_string(op), unsigned(random() % 3),
                          int64_t(1 + random() % 300), int64_t(1 + random() % 900)});
    for (int edge = 0; edge < 60; ++edge) {
      unsigned from = random() % 40, to = random() % 40;
      loop.dependences.push_back(
          {from, to, loop.ops[from].latency, from < to ? 0 : int64_t(1 + random() % 3)});
    }
    std::optional<Schedule> schedule = moduloSchedule(loop);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(findViolation(loop, *schedule), std::nullopt);
    EXPECT_GE(schedule->interval, resourceBound(loop).interval);
    EXPECT_GE(schedule->interval, *recurrenceBound(loop));
  }
}

} // namespace
} // namespace tilewright::pipeline
