#include "tilewright/plan/Verify.h"

#include "tilewright/plan/testing/Plan.h"
#include "tilewright/support/testing/Slowness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

namespace tilewright::collective {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr bool isFast = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool isFast = false;
#else
constexpr bool isFast = true;
#endif
#else
constexpr bool isFast = true;
#endif
/// A million instances, or fewer in builds that are ten times slower.
constexpr int64_t manyLayers = isFast ? 500 : 20;

using testing::HasSubstr;

Counterexample counterexampleOf(const CommPlan &plan) {
  EXPECT_EQ(checkPlan(plan).message(), "");
  auto verdict = verify(plan);
  EXPECT_TRUE(verdict.isOk());
  EXPECT_TRUE(std::holds_alternative<Counterexample>(*verdict)) << "it was proven";
  return std::get<Counterexample>(*verdict);
}
Proof proofOf(const CommPlan &plan, const VerifyOptions &options = {}) {
  EXPECT_EQ(checkPlan(plan).message(), "");
  auto verdict = verify(plan, options);
  EXPECT_TRUE(verdict.isOk());
  if (const auto *found = std::get_if<Counterexample>(&*verdict))
    ADD_FAILURE() << describe(plan, *found);
  return std::get<Proof>(*verdict);
}
/// CPU time, because other programs may use the machine.
double secondsOf(const std::function<void()> &work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Verify, ThreeCliquesInACircleAreFound) {
  TestPlan plan({{"x", 3}});
  plan.callInACircle();

  const Counterexample found = counterexampleOf(plan);

  EXPECT_EQ(found.reason, Counterexample::Reason::cycle);
  EXPECT_EQ(found.waits.size(), 3u);
  const Status status = toStatus(plan, found);
  EXPECT_EQ(status.error(), Error::collectiveCycle);
  EXPECT_THAT(status.message(), HasSubstr("3 ranks wait for each other in a cycle"));
  EXPECT_THAT(status.message(), HasSubstr("rank 0 waits in A"));
  EXPECT_THAT(status.message(), HasSubstr("at step.py:"));
}

TEST(Verify, TheSameThreeInOneOrderAreProven) {
  TestPlan plan({{"x", 3}});
  const PlanIndex a = plan.group({0, 1}), b = plan.group({1, 2}), c = plan.group({2, 0});
  plan.branchByRank({0, 1, 2});
  plan.arm(0);
  plan.call("A", a, 0).call("C", c, 2);
  plan.arm(1);
  plan.call("A", a, 0).call("B", b, 1);
  plan.arm(2);
  plan.call("B", b, 1).call("C", c, 2);
  plan.end();
  const Proof proof = proofOf(plan);
  EXPECT_EQ(proof.method, Proof::Method::instances);
  EXPECT_EQ(proof.instances, 3);
  EXPECT_EQ(proof.events, 12);
}

/// Waiting later breaks the cycle, unless the exchanges share a lane.
TEST(Verify, LanesDecideWhetherACircleCloses) {
  for (const uint8_t lane : {0, 1}) {
    TestPlan plan({{"x", 2}});
    const PlanIndex all = plan.axes({0}), same = plan.group({1, 0});
    plan.branchByRank({0, 1});
    plan.arm(0);
    plan.start("A", all, 0).start("B", same, 1, lane).wait("A").wait("B");
    plan.arm(1);
    plan.start("B", same, 1, lane).start("A", all, 0).wait("A").wait("B");
    plan.end();
    if (lane == 1) {
      proofOf(plan);
    } else {
      const Counterexample found = counterexampleOf(plan);
      EXPECT_EQ(found.reason, Counterexample::Reason::cycle);
      EXPECT_EQ(found.waits.size(), 2u);
    }
  }
}

TEST(Verify, OneCliqueInTwoOrdersNamesBothLines) {
  TestPlan plan({{"x", 2}});
  const PlanIndex all = plan.axes({0});
  plan.branchByRank({0, 1});
  plan.arm(0);
  plan.call("A", all, 0).call("B", all, 1);
  plan.arm(1);
  plan.call("B", all, 1).call("A", all, 0);
  plan.end();
  const Status status = toStatus(plan, counterexampleOf(plan));
  EXPECT_EQ(status.error(), Error::collectiveOrder);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 issues A"));
  EXPECT_THAT(status.message(), HasSubstr("rank 1 issues B"));
}

TEST(Verify, AChoiceThatMayDifferWithinACliqueIsRefused) {
  TestPlan plan({{"x", 2}, {"y", 2}});
  const PlanIndex alongX = plan.axes({0}), alongY = plan.axes({1});
  plan.branch(/*varies=*/1);
  plan.arm(0);
  plan.call("fine", alongY, 0);
  plan.arm(1);
  plan.call("wrong", alongX, 1);
  plan.end();
  const Status status = toStatus(plan, counterexampleOf(plan));
  EXPECT_EQ(status.error(), Error::controlVaries);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 waits in wrong"));
  EXPECT_THAT(status.message(), HasSubstr("for rank 2"));
  EXPECT_THAT(status.message(), HasSubstr("may choose differently along x"));
  EXPECT_THAT(status.message(), HasSubstr("takes arm 1 where x=0"));
}

TEST(Verify, AChoiceThatVariesAcrossCliquesIsProven) {
  TestPlan plan({{"x", 2}, {"y", 2}});
  const PlanIndex alongY = plan.axes({1});
  plan.branch(/*varies=*/1);
  plan.arm(0);
  plan.call("A", alongY, 0);
  plan.end();
  plan.loop(-1, /*varies=*/1);
  plan.arm(1);
  plan.call("B", alongY, 1);
  plan.end();
  EXPECT_EQ(proofOf(plan).method, Proof::Method::programOrder);
}

TEST(Verify, ARankThatNeverComesIsNamed) {
  TestPlan plan({{"x", 4}});
  const PlanIndex all = plan.axes({0});
  plan.branchByRank({0, 0, 1, 0});
  plan.arm(0);
  plan.call("A", all, 0);
  plan.end();
  const Status status = toStatus(plan, counterexampleOf(plan));
  EXPECT_EQ(status.error(), Error::collectiveMissed);
  EXPECT_THAT(status.message(), HasSubstr("for rank 2, which takes another arm of the branch"));
}

TEST(Verify, EmptyGroupsSingletonsAndPartsOfAMeshWaitForNobodyElse) {
  TestPlan plan({{"x", 4}});
  const PlanIndex empty = plan.groups({{}}), single = plan.groups({{2}}),
                  part = plan.groups({{0, 1}}), alone = plan.axes({});
  plan.call("empty", empty, 0).call("single", single, 1).call("part", part, 2);
  plan.call("alone", alone, 3);
  plan.branchByRank({0, 0, 1, 1});
  plan.arm(0);
  plan.call("inside", part, 4);
  plan.end();
  proofOf(plan);
  VerifyOptions all;
  all.runsInstances = true;
  EXPECT_EQ(proofOf(plan, all).instances, 1 + 1 + 1 + 4);
}

/// A rank outside a loop closes a cycle that enters the loop in one iteration and leaves it in
/// another.
TEST(Verify, ACircleThroughSeveralTurnsIsFound) {
  TestPlan plan({{"x", 5}});
  const PlanIndex ab = plan.group({0, 1}), bc = plan.group({1, 2}), cd = plan.group({2, 3}),
                  out = plan.group({3, 4}), in = plan.group({0, 4});
  plan.branchByRank({0, 0, 0, 0, 1});
  plan.arm(0);
  plan.call("in", in, 0);
  plan.loop(1000);
  plan.arm(1);
  plan.call("cd", cd, 1).call("bc", bc, 2).call("ab", ab, 3);
  plan.end();
  plan.call("out", out, 4);
  plan.arm(1);
  plan.call("out", out, 4).call("in", in, 0);
  plan.end();
  const Counterexample found = counterexampleOf(plan);
  EXPECT_EQ(found.reason, Counterexample::Reason::cycle);
}

/// A cycle through mutually exclusive arms is not a deadlock.
TEST(Verify, ACircleThroughBothArmsOfABranchIsNone) {
  TestPlan plan({{"x", 6}});
  const PlanIndex p01 = plan.group({0, 1}), p23 = plan.group({2, 3}), a = plan.group({0, 4}),
                  b = plan.group({2, 4}), c = plan.group({3, 5}), d = plan.group({1, 5});
  plan.branchByRank({0, 0, 0, 0, 1, 2});
  plan.arm(0);
  plan.call("Y", b, 0).call("V", d, 1);
  plan.branch(0);
  plan.arm(0);
  plan.call("first", p01, 2);
  plan.arm(1);
  plan.call("second", p23, 3);
  plan.end();
  plan.call("X", a, 4).call("U", c, 5);
  plan.arm(1);
  plan.call("X", a, 4).call("Y", b, 0);
  plan.arm(2);
  plan.call("U", c, 5).call("V", d, 1);
  plan.end();
  proofOf(plan);
}

/// 16,384 ranks as 2048 x 8: layers of a model that exchange along one axis, then the other. With
/// `isSwapped`, rank 4711 issues one pair of exchanges in the opposite order.
TestPlan largePlan(int64_t layers, bool isSwapped, std::vector<uint8_t> gradientAxes) {
  TestPlan plan({{"data", 2048}, {"model", 8}});
  const PlanIndex data = plan.axes(std::move(gradientAxes)), model = plan.axes({1});
  std::vector<uint32_t> choices(16384);
  if (isSwapped)
    choices[4711] = 1;
  plan.branchByRank(choices, 2);
  for (uint32_t arm = 0; arm < (isSwapped ? 2u : 1u); ++arm) {
    plan.arm(arm);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const auto number = static_cast<uint32_t>(layer * 2);
      const std::string suffix = "." + std::to_string(layer);
      const bool isOther = arm == 1 && layer == layers / 2;
      if (isOther)
        plan.call("gradient" + suffix, data, number + 1);
      plan.call("activation" + suffix, model, number);
      if (!isOther)
        plan.call("gradient" + suffix, data, number + 1);
    }
  }
  plan.end();
  return plan;
}

TEST(Verify, AMillionInstancesOfSixteenThousandRanksTakeTwoSeconds) {
  const TestPlan plan = largePlan(manyLayers, false, {0});
  VerifyOptions options;
  options.runsInstances = true;
  Proof proof;
  const double seconds = secondsOf([&] { proof = proofOf(plan, options); });
  EXPECT_EQ(proof.ranks, 16384);
  EXPECT_EQ(proof.instances, manyLayers * (2048 + 8));
  RecordProperty("seconds", std::to_string(seconds));
  std::printf("%lld instances, %lld starts and waits: %.3f s\n", (long long)proof.instances,
              (long long)proof.events, seconds);
  EXPECT_LT(seconds, 2 * slowness());
}

TEST(Verify, OneSwappedPairOnOneOfSixteenThousandRanksIsFound) {
  const TestPlan plan = largePlan(manyLayers, true, {0, 1});
  Counterexample found;
  const double seconds = secondsOf([&] { found = counterexampleOf(plan); });
  EXPECT_EQ(found.reason, Counterexample::Reason::cycle);
  EXPECT_EQ(found.waits.size(), 2u);
  EXPECT_TRUE(found.waits[0].rank == 4711 || found.waits[1].rank == 4711);
  EXPECT_THAT(describe(plan, found),
              HasSubstr(concat("rank 4711 waits in gradient.", manyLayers / 2)));
  std::printf("found in %.3f s: %s\n", seconds, describe(plan, found).c_str());
}

/// The cliques share only one rank: the others continue, and it joins later.
TEST(Verify, ASwappedPairThatHurtsNobodyIsProven) {
  const TestPlan plan = largePlan(20, true, {0});
  EXPECT_EQ(proofOf(plan).method, Proof::Method::instances);
}

TEST(Verify, ProgramOrderIsIndependentOfTheNumberOfRanks) {
  TestPlan plan({{"data", 16384}, {"model", 8}});
  const PlanIndex data = plan.axes({0}), model = plan.axes({1});
  plan.loop(1'000'000);
  plan.arm(1);
  for (uint32_t i = 0; i < 1000; ++i)
    plan.call("c" + std::to_string(i), i % 2 ? data : model, i);
  plan.end();
  const double seconds = secondsOf([&] { proofOf(plan); });
  EXPECT_LT(seconds, 0.5 * slowness());
}

TEST(Verify, ArmsWithoutExchangesTakeNoTime) {
  TestPlan plan({{"x", 2}});
  const PlanIndex all = plan.axes({0});
  plan.branchByRank({0, 1}); // so that the loops are simulated
  for (uint32_t side = 0; side < 2; ++side) {
    plan.arm(side);
    plan.loop(1 << 14);
    plan.arm(1);
    plan.branchByRank({0, 0}, /*arms=*/1 << 16);
    plan.arm(0);
    plan.call("A", all, 0);
    plan.end();
    plan.end();
  }
  plan.end();
  VerifyOptions options;
  options.runsInstances = true;
  const double seconds = secondsOf([&] { proofOf(plan, options); });
  EXPECT_LT(seconds, 0.5 * slowness());
}

TEST(Verify, WhatIsTooLargeIsNotCalledProven) {
  TestPlan plan({{"x", 2}});
  const PlanIndex all = plan.axes({0});
  plan.branchByRank({0, 1});
  for (uint32_t arm = 0; arm < 2; ++arm) {
    plan.arm(arm);
    plan.loop(int64_t(1) << 40);
    plan.arm(1);
    plan.call("A", all, 0);
    plan.end();
  }
  plan.end();
  auto verdict = verify(plan);
  ASSERT_FALSE(verdict.isOk());
  EXPECT_EQ(std::move(verdict).takeStatus().error(), Error::commUnproven);
}

TEST(Verify, TheProofIsPrinted) {
  TestPlan plan({{"data", 2}, {"model", 4}});
  const PlanIndex model = plan.axes({1});
  plan.loop(12);
  plan.arm(1);
  plan.call("all_reduce.0", model, 0);
  plan.end();
  const std::string text = describe(plan, proofOf(plan));
  EXPECT_THAT(text, HasSubstr("mesh      data=2, model=4 (8 ranks)"));
  EXPECT_THAT(text, HasSubstr("clique 0  along model, 1 site"));
  EXPECT_THAT(text, HasSubstr("12 iterations"));
  EXPECT_THAT(text, HasSubstr("all_reduce.0 (f32, 64 bytes, along model) at step.py:"));
}

} // namespace
} // namespace tilewright::collective
