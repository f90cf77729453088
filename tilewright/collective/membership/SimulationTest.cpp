#include "tilewright/collective/membership/testing/Simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace tilewright::collective::membership {
namespace {

/// TILEWRIGHT_TEST_COUNT=1000000 runs more schedules; TILEWRIGHT_TEST_SEED=5000000 runs others. A
/// schedule that fails prints its seed; run alone, with TILEWRIGHT_TEST_SEED=seed and
/// TILEWRIGHT_TEST_COUNT=1, it prints all its events.
uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Runs schedules of jobs with up to `dense` processes that are all connected to each other.
void runSchedules(size_t dense) {
  const uint64_t first = fromEnvironment("TILEWRIGHT_TEST_SEED", 1);
  const uint64_t count = fromEnvironment("TILEWRIGHT_TEST_COUNT", 10'000);
  Outcome sum;
  size_t strict = 0, failed = 0;
  for (uint64_t seed = first; seed < first + count && failed < 5; ++seed) {
    const Outcome outcome = simulate(seed, {}, count == 1 ? &std::cout : nullptr, dense);
    if (!outcome.problem.empty()) {
      ++failed;
      ADD_FAILURE() << "seed " << seed << ": " << outcome.problem;
    }
    sum.steps += outcome.steps;
    sum.views += outcome.views;
    sum.crashes += outcome.crashes;
    sum.pauses += outcome.pauses;
    sum.cuts += outcome.cuts;
    sum.partitions += outcome.partitions;
    sum.suspicions += outcome.suspicions;
    sum.restarts += outcome.restarts;
    sum.minorities += outcome.minorities;
    sum.fenced += outcome.fenced;
    sum.unsettled += outcome.unsettled;
    strict += outcome.isStrict;
  }
  std::cout << count << " schedules, " << strict << " strict, " << sum.steps << " steps, "
            << sum.views << " views; crashes " << sum.crashes << ", pauses " << sum.pauses
            << ", cuts " << sum.cuts << ", partitions " << sum.partitions << ", suspicions "
            << sum.suspicions << ", restarts " << sum.restarts << "; told: minority "
            << sum.minorities << ", fenced " << sum.fenced << ", unsettled " << sum.unsettled
            << '\n';
  if (count < 1000)
    return;
  // All kinds of events occurred.
  for (size_t times : {sum.crashes, sum.pauses, sum.cuts, sum.partitions, sum.suspicions,
                       sum.restarts, sum.minorities, sum.fenced, strict})
    EXPECT_GT(times, count / 100);
}

TEST(Simulation, EverySeededScheduleKeepsTheRulesAndEnds) { runSchedules(64); }

/// As in a large job: a process is connected to few others, and messages take several hops.
TEST(Simulation, SoDoesEveryScheduleOfNeighbours) { runSchedules(0); }

TEST(Simulation, TheSameSeedDoesTheSame) {
  for (uint64_t seed = 1; seed < 100; ++seed)
    EXPECT_EQ(simulate(seed).steps, simulate(seed).steps);
}

using Rules = UnsafeStateMachine::Rules;
struct Broken {
  const char *name;
  bool Rules::*rule;
};
class BrokenRule : public ::testing::TestWithParam<Broken> {};

/// Shows that the simulator can find violations: each rule in turn is disabled.
TEST_P(BrokenRule, IsNoticed) {
  Rules rules;
  rules.*GetParam().rule = false;
  constexpr uint64_t most = 20'000;
  for (uint64_t seed = 1; seed <= most; ++seed)
    if (const Outcome outcome = simulate(seed, rules); !outcome.problem.empty()) {
      std::cout << "after " << seed << " schedules: " << outcome.problem << '\n';
      return;
    }
  ADD_FAILURE() << "not in " << most << " schedules";
}

INSTANTIATE_TEST_SUITE_P(All, BrokenRule,
                         ::testing::Values(Broken{"NeedsQuorum", &Rules::needsQuorum},
                                           Broken{"KeepsPromises", &Rules::keepsPromises},
                                           Broken{"AdoptsAccepted", &Rules::adoptsAccepted},
                                           Broken{"ComparesEpochs", &Rules::comparesEpochs},
                                           Broken{"SuspectsSilent", &Rules::suspectsSilent}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace tilewright::collective::membership
