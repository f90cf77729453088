// Jobs of many processes, each connected to few others.
#include "tilewright/collective/membership/testing/Scale.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <iostream>

namespace tilewright::collective::membership {
namespace {

/// TILEWRIGHT_TEST_COUNT=131072 simulates a job of so many processes.
size_t largestJob() {
  const char *text = std::getenv("TILEWRIGHT_TEST_COUNT");
  return text ? std::strtoull(text, nullptr, 10) : 2048;
}

TEST(Scale, AJobOfAnySizeStartsAndNoticesADeath) {
  const size_t count = largestJob();
  // A silent process in the middle, a process whose connections end, and the leader.
  for (const ScaleScenario &scenario :
       {ScaleScenario{count, count / 3}, ScaleScenario{count / 2 + 1, 5, true},
        ScaleScenario{count / 4 + 7, 0}}) {
    const ScaleOutcome outcome = simulateScale(scenario);
    std::cout << scenario.processes << " processes, " << outcome.neighbours
              << " connections each: started after " << outcome.started << " s, "
              << outcome.heartbeats << " heartbeats/s; process " << scenario.victim
              << (scenario.isSeen ? " ends" : " falls silent") << ": noticed by all after "
              << outcome.noticed << " s, next view after " << outcome.agreed << " s by "
              << outcome.messages << " messages a process, " << outcome.busiest
              << " by the busiest\n";
    EXPECT_TRUE(outcome.isComplete);
    EXPECT_EQ(outcome.members, scenario.processes - 1);
    EXPECT_LT(outcome.started, 60);
    EXPECT_LT(outcome.noticed, scenario.isSeen ? 0.1 : 2);
    const auto bits = static_cast<size_t>(std::bit_width(scenario.processes));
    EXPECT_LE(outcome.neighbours, 2 * bits);
    EXPECT_LE(outcome.heartbeats, 6.0 * double(2 * bits));
  }
}

} // namespace
} // namespace tilewright::collective::membership
