// Compares verify() with an exhaustive run, on random plans.
#include "tilewright/plan/PlanBytes.h"
#include "tilewright/plan/testing/ExhaustiveRun.h"
#include "tilewright/plan/testing/RandomPlan.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewright::collective {
namespace {

/// TILEWRIGHT_PLANS=100000 runs more plans; TILEWRIGHT_SEED=2 runs others.
uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(VerifyAgainstExhaustive, SameVerdictAndEveryCounterexampleReplays) {
  const uint64_t wanted = setting("TILEWRIGHT_PLANS", 3000);
  uint64_t seed = setting("TILEWRIGHT_SEED", 1) * 1'000'000'000;
  uint64_t judged = 0, tooLarge = 0, still = 0, reasons[4] = {}, byOrder = 0, combinations = 0,
           states = 0;
  for (; judged < wanted; ++seed) {
    ASSERT_LT(tooLarge, wanted * 2 + 100) << "the generator makes too many that cannot be judged";
    const CommPlan plan = randomPlan(seed);
    ASSERT_EQ(checkPlan(plan).message(), "") << "seed " << seed;
    const std::optional<ExhaustiveVerdict> judge = runExhaustively(plan);
    if (!judge) {
      ++tooLarge;
      continue;
    }
    ++judged;
    ASSERT_FALSE(judge->hasRace) << "seed " << seed;
    combinations += judge->combinations;
    states += judge->states;
    auto verdict = verify(plan);
    ASSERT_TRUE(verdict.isOk()) << "seed " << seed;
    const auto *found = std::get_if<Counterexample>(&*verdict);
    ASSERT_EQ(found != nullptr, judge->canDeadlock)
        << "seed " << seed << ": "
        << (found ? describe(plan, *found) : "proven, but it can stand still");
    if (found) {
      ++still;
      ++reasons[static_cast<size_t>(found->reason)];
      ASSERT_TRUE(replays(plan, *found)) << "seed " << seed << ": " << describe(plan, *found);
    } else {
      byOrder += std::get<Proof>(*verdict).method == Proof::Method::programOrder;
    }
    VerifyOptions instances;
    instances.runsInstances = true;
    auto again = verify(plan, instances);
    ASSERT_TRUE(again.isOk());
    ASSERT_EQ(std::holds_alternative<Counterexample>(*again), found != nullptr) << "seed " << seed;
  }
  // No verdict may be rare, or the test would say little.
  for (uint64_t count : reasons)
    EXPECT_GT(count, judged / 200);
  EXPECT_GT(judged - still, judged / 10);
  std::printf(
      "%llu plans (%llu too large to judge), %llu combinations of choices, %llu states: %llu "
      "proven (%llu by order), %llu stand still: %llu vary, %llu missed, %llu differ, %llu "
      "circles\n",
      (unsigned long long)judged, (unsigned long long)tooLarge, (unsigned long long)combinations,
      (unsigned long long)states, (unsigned long long)(judged - still), (unsigned long long)byOrder,
      (unsigned long long)still, (unsigned long long)reasons[0], (unsigned long long)reasons[1],
      (unsigned long long)reasons[2], (unsigned long long)reasons[3]);
}

} // namespace
} // namespace tilewright::collective
