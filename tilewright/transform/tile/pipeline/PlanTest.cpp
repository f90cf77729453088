#include "tilewright/transform/tile/pipeline/Plan.h"

#include "tilewright/transform/tile/pipeline/ModuloSchedule.h"
#include "tilewright/transform/tile/pipeline/PlanParts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

namespace tilewright::pipeline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

enum : unsigned { copyUnit, tensorUnit };

/// 128x256x64 of f16 on Hopper: 49,152 bytes and 1,024 cycles of the tensor core for an iteration.
PipelineProblem hopperGemm(int64_t iterations = 64) {
  PipelineProblem problem;
  problem.loop.units = {{"the copy engine", 1, true}, {"the tensor core", 1, true}};
  problem.loop.ops = {{"copy of lhs", copyUnit, 256, 1000},
                      {"copy of rhs", copyUnit, 512, 1000},
                      {"product", tensorUnit, 1024, 1060}};
  problem.loop.dependences = {{0, 2, 1000}, {1, 2, 1000}, {2, 2, 1024, 1}};
  problem.buffers = {{"lhs", 0, {{2, 0}}, Space::shared, 16384},
                     {"rhs", 1, {{2, 0}}, Space::shared, 32768}};
  problem.channels = {{"in", {0, 1}}};
  problem.roles = {{"load", {copyUnit}, 4, 40, 0, 1}, {"math", {tensorUnit}, 4, 50, 128 * 256, 4}};
  problem.limits = {232448, 2048, 0, 65536, 255, 1024, true};
  problem.iterations = iterations;
  return problem;
}

TEST(PipelinePlan, HopperGemmHasTwoConsumerGroupsAndTheRegistersOfPeers) {
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(hopperGemm(), reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->schedule.interval, 1024);
  // A slot is live from the start of its copy (0) to the end of its product (1256 + 1060).
  EXPECT_EQ(plan->channels[0].depth, 3);
  EXPECT_EQ(plan->channels[0].slotBytes, 49152);
  EXPECT_EQ(plan->channels[0].lag, 1);
  EXPECT_EQ(plan->roles[1].groups, 2);
  EXPECT_EQ(plan->threads, 384);
  EXPECT_EQ(plan->launchRegisters, 168);
  EXPECT_EQ(plan->roles[0].registers, 40);
  EXPECT_EQ(plan->roles[1].registers, 232);
  EXPECT_THAT(
      plan->reasons,
      Contains("an iteration takes 1024 cycles, of which the tensor core is busy for 1024"));
  EXPECT_THAT(
      plan->reasons,
      Contains(HasSubstr(
          "math has 2 groups of 4 warps: with one group fewer a thread would need 306 registers")));
}

/// Two products with a computation between them, as in attention, for two groups: copies of a and
/// b, a product with a, a computation, a product with b. The second product's occupancy includes
/// the products of the other group.
PipelineProblem twoProducts() {
  PipelineProblem problem;
  problem.loop.units = {{"link", 2, true}, {"tensor", 1, true}, {"lanes", 1, false}};
  problem.loop.ops = {{"copy of a", 0, 800, 1800},
                      {"copy of b", 0, 800, 1800},
                      {"first product", 1, 512, 576},
                      {"computation", 2, 1200, 600},
                      {"second product", 1, 512 + 1024, 576}};
  problem.loop.dependences = {{0, 2, 1800}, {2, 3, 576}, {3, 4, 600}, {1, 4, 1800}, {4, 4, 512, 1}};
  problem.buffers = {{"a", 0, {{2, 0}}, Space::shared, 32768, 1024},
                     {"b", 1, {{4, 0}}, Space::shared, 32768, 1024},
                     {"scores", 2, {{3, 0}}, Space::registers, 64},
                     {"weights", 3, {{4, 0}}, Space::registers, 32}};
  problem.channels = {{"a", {0}}, {"b", {1}}, {"scores", {2}, 1}, {"weights", {3}, 1}};
  problem.roles = {{"load", {0}, 4, 24, 0, 1}, {"math", {1, 2}, 4, 40, 128 * 128, 2, 2, true}};
  problem.limits = {232448, 2048, 0, 65536, 255, 1024, true};
  problem.iterations = 5;
  return problem;
}

TEST(PipelinePlan, TheSecondProductOverlapsTheNextIterationsComputation) {
  const PipelineProblem problem = twoProducts();
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  // The tensor core is never idle.
  EXPECT_EQ(plan->schedule.interval, 2048);
  EXPECT_EQ(plan->stageInRole(1, 2), 0);
  EXPECT_EQ(plan->stageInRole(1, 3), 0);
  EXPECT_EQ(plan->stageInRole(1, 4), 1);
  // In the steady state: first product, second product of the iteration before, computation.
  EXPECT_EQ(plan->offsetInRole(1, 2), 0);
  EXPECT_EQ(plan->offsetInRole(1, 4), 512);
  EXPECT_GE(plan->offsetInRole(1, 3), 512);
  // A slot is also in use while the other group reads it.
  EXPECT_EQ(plan->channels[0].depth, 2);
  EXPECT_EQ(plan->roles[1].registers, 240);
}

TEST(PipelinePlan, GroupsThatTakeTurnsAreRolesOfTheGraph) {
  const PipelineProblem problem = twoProducts();
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  ChannelGraph graph = channelGraph(problem, *plan);
  ASSERT_EQ(graph.roles.size(), 3U);
  EXPECT_EQ(graph.roles[2].name, "group 1 of math");
  // Five iterations in two stages are six steps; no turn is taken in the first and the last.
  EXPECT_EQ(graph.roles[1].segments.size(), 6U);
  EXPECT_EQ(findDeadlock(graph), std::nullopt);
  // Without the turn that the first group has at the start, both wait.
  for (Queue &queue : graph.channels)
    queue.filled = 0;
  EXPECT_THAT(findDeadlock(graph).value_or("none"), HasSubstr("turn of group 0"));
}

TEST(PipelinePlan, SlotsShrinkUntilTheyFitAndTheLossIsSaid) {
  PipelineProblem problem = hopperGemm();
  problem.limits.sharedBytes = 2048 + 49152;
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->channels[0].depth, 1);
  EXPECT_EQ(plan->channels[0].lag, 0);
  // With one slot an iteration copies both operands, then multiplies, without overlap.
  EXPECT_GE(plan->schedule.interval, 1000 + 1060);
  EXPECT_THAT(plan->reasons,
              Contains(HasSubstr("in has 1 slots instead of 3, because more do not fit")));
  EXPECT_THAT(plan->reasons, Contains(HasSubstr("because there are too few slots")));
}

TEST(PipelinePlan, RefusalsNameWhatIsTooLarge) {
  std::string reason;
  PipelineProblem problem = hopperGemm();
  problem.limits.sharedBytes = 40000;
  EXPECT_FALSE(planPipeline(problem, reason));
  EXPECT_EQ(reason, "one slot of each channel takes 49152 bytes of shared memory, but only 40000 "
                    "bytes are available, of which 2048 are reserved");

  problem = hopperGemm();
  problem.roles[1].maxGroups = 1;
  EXPECT_FALSE(planPipeline(problem, reason));
  EXPECT_EQ(reason, "math needs 306 registers per thread in 1 group, but the limit is 255");

  problem = hopperGemm();
  problem.roles.pop_back();
  EXPECT_FALSE(planPipeline(problem, reason));
  EXPECT_EQ(reason, "no role has the unit the tensor core, which product needs");
}

TEST(PipelinePlan, BlackwellPairHasTwoAccumulatorsWhereTheyFit) {
  // 256x256x64 of bf16 by a pair: 512 cycles, 32 KB for each CTA. The epilogue of a tile of 16
  // iterations is one op in them: it reads the accumulator for 6,000 of 8,192 cycles.
  PipelineProblem problem = hopperGemm(1);
  problem.loop.units.push_back({"the lanes", 1, false});
  problem.loop.ops = {{"loads", copyUnit, 4096, 5096},
                      {"products", tensorUnit, 8192, 8192},
                      {"epilogue", 2, 6000, 6000}};
  problem.loop.dependences = {{0, 1, 1000}, {1, 2, 8192}};
  problem.buffers = {{"accumulator", 1, {{2, 0}}, Space::tensor, 256}};
  problem.channels = {{"acc", {0}}};
  problem.roles = {{"load", {copyUnit}, 1, 40, 0, 1},
                   {"mma", {tensorUnit}, 1, 40, 0, 1},
                   {"epilogue", {2}, 4, 100, 0, 1}};
  problem.limits.tensorColumns = 512;
  problem.limits.movesRegisters = false;
  problem.iterations = 8;
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->channels[0].depth, 2);
  EXPECT_EQ(plan->tensorColumns, 512);
  EXPECT_EQ(plan->schedule.interval, 8192);
  EXPECT_EQ(plan->threads, 192);

  problem.limits.tensorColumns = 256;
  plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->channels[0].depth, 1);
  EXPECT_EQ(plan->schedule.interval, 8192 + 6000);
}

TEST(PipelinePlan, MergedLoopRunsAheadOfItself) {
  PipelineProblem problem = hopperGemm();
  problem.roles = {{"all", {copyUnit, tensorUnit}, 4, 90, 128 * 128, 2}};
  problem.limits.movesRegisters = false;
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->channels[0].lag, 0);
  ChannelGraph graph = channelGraph(problem, *plan);
  ASSERT_EQ(graph.roles.size(), 1u);
  EXPECT_EQ(graph.roles[0].segments[0].times, plan->channels[0].depth - 1);
  EXPECT_EQ(findDeadlock(graph), std::nullopt);
}

/// The result's buffer reduces the memory for slots, and its protocol is part of a round.
TEST(PipelinePlan, ABufferOfTheRoundIsReservedAndProved) {
  PipelineProblem problem = hopperGemm();
  problem.limits.sharedReserved += 65536;
  problem.roundChannels = {{"result", 1, 1}};
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->channels[0].depth, 3);
  EXPECT_EQ(plan->sharedBytes, 3 * 49152 + 2048 + 65536);
  ChannelGraph graph = channelGraph(problem, *plan);
  ASSERT_EQ(graph.channels.size(), 2u);
  EXPECT_EQ(graph.roles[1].segments.back().actions.size(), 4u);
  EXPECT_EQ(findDeadlock(graph), std::nullopt);
  // With less shared memory the channel gets one slot less.
  problem.limits.sharedReserved += 65536;
  plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->channels[0].depth, 2);
  EXPECT_GT(plan->schedule.interval, plan->freeInterval);
}

/// 128x128x64 of f16 on Ampere: 32,768 bytes and 1,072 cycles per iteration, all warps do
/// everything.
PipelineProblem ampereGemm(int64_t iterations = 64) {
  PipelineProblem problem = hopperGemm(iterations);
  problem.loop.units = {{"the L2 link", 1, true}, {"the tensor core", 1, false}};
  problem.loop.ops = {{"copy of lhs", copyUnit, 346, 1046},
                      {"copy of rhs", copyUnit, 346, 1046},
                      {"product", tensorUnit, 1072, 1105}};
  problem.loop.dependences = {{0, 2, 1046}, {1, 2, 1046}, {2, 2, 1072, 1}};
  problem.buffers[0].size = problem.buffers[1].size = 16384;
  problem.roles = {{"all", {copyUnit, tensorUnit}, 4, 120, 128 * 128, 1}};
  problem.limits = {166912, 2048, 0, 65536, 255, 1024, false};
  return problem;
}

TEST(PipelinePlan, KernelWithoutRolesTakesBeforeItFillsAndIsLive) {
  PipelineProblem problem = ampereGemm();
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  // A slot is live from the start of its copy (0) to the end of its product (346 + 1046 + 1105).
  EXPECT_EQ(plan->channels[0].depth, 3);
  EXPECT_EQ(plan->channels[0].lag, 0);
  EXPECT_EQ(plan->threads, 128);
  EXPECT_EQ(plan->roles[0].registers, 248);
  EXPECT_EQ(findFault(problem, *plan), std::nullopt);

  auto pointsOf = [](const Segment &segment) {
    std::vector<Point> points;
    for (const Action &action : segment.actions)
      points.push_back(action.point);
    return points;
  };
  ChannelGraph graph = channelGraph(problem, *plan);
  ASSERT_EQ(graph.roles.size(), 1u);
  const auto &segments = graph.roles[0].segments;
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0].times, 2);
  EXPECT_EQ(pointsOf(segments[0]), (std::vector{Point::acquire, Point::publish}));
  EXPECT_EQ(segments[1].times, 62);
  EXPECT_EQ(pointsOf(segments[1]),
            (std::vector{Point::take, Point::acquire, Point::publish, Point::free}));
  EXPECT_EQ(segments[2].times, 2);
  EXPECT_EQ(pointsOf(segments[2]), (std::vector{Point::take, Point::free}));
  EXPECT_EQ(findDeadlock(graph), std::nullopt);

  // Without running ahead, the first take waits for a later action. With one slot too few, a slot
  // is filled before it is free.
  ChannelGraph late = graph;
  late.roles[0].segments = {{64, graph.roles[0].segments[1].actions}};
  EXPECT_THAT(findDeadlock(late).value_or("nothing"), HasSubstr("take"));
  ChannelGraph shallow = graph;
  shallow.channels[0].depth = 2;
  EXPECT_THAT(findDeadlock(shallow).value_or("nothing"), HasSubstr("acquire"));
}

TEST(PipelinePlan, KernelWithoutRolesAndOneIterationHasOneSlot) {
  PipelineProblem problem = ampereGemm(1);
  std::string reason;
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  ASSERT_TRUE(plan) << reason;
  EXPECT_EQ(plan->channels[0].depth, 1);
  EXPECT_EQ(findDeadlock(channelGraph(problem, *plan)), std::nullopt);
}

TEST(PipelinePlan, EveryDamageToAPlanIsFound) {
  PipelineProblem problem = hopperGemm();
  std::string reason;
  const PipelinePlan good = *planPipeline(problem, reason);
  ASSERT_EQ(findFault(problem, good), std::nullopt);
  auto faultOf = [&](auto damage) {
    PipelinePlan plan = good;
    damage(plan);
    return findFault(problem, plan).value_or("nothing");
  };
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.channels[0].depth = 0; }), HasSubstr("deadlock"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.channels[0].depth = 1; }), HasSubstr("deadlock"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.channels[0].depth = 2; }), HasSubstr("copy of"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.channels[0].depth = 9; }),
              HasSubstr("bytes of shared memory"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.channels[0].slotBytes -= 4; }),
              HasSubstr("expects 49148 bytes, but its copies transfer 49152"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.schedule.start[2] -= 1; }),
              HasSubstr("product starts"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.schedule.interval -= 1; }),
              HasSubstr("product starts 1023 cycles after product, but"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.roles[0].registers = 44; }),
              HasSubstr("multiple of 8 from 24 to 256"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.roles[1].registers = 240; }),
              HasSubstr("the kernel starts with 64512"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.roles[1].ops.clear(); }),
              HasSubstr("product is run by 0 roles, but must be run by exactly one"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.roles[0].ops.push_back(2); }),
              HasSubstr("run by 2 roles"));
  EXPECT_THAT(faultOf([](PipelinePlan &p) { p.roles[1].warps = 4; }),
              HasSubstr("the roles have 256 threads, the plan has 384"));
}

/// Chains of copies and products with random sizes: the plan is legal, and an exhaustive search
/// finds no depths that fit with a shorter interval.
TEST(PipelinePlan, RandomProblemsShrinkByTheLeastLoss) {
  std::mt19937 random(5);
  auto between = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % (high - low + 1));
  };
  int shrunk = 0;
  for (int trial = 0; trial < 300; ++trial) {
    PipelineProblem problem;
    problem.loop.units = {{"copy", 1, true}, {"tensor", 1, true}};
    problem.roles = {{"load", {0}, 4, 24, 0, 1}, {"math", {1}, 4, 24, 1024, 1}};
    int64_t loads = between(1, 3);
    for (unsigned load = 0; load < loads; ++load) {
      problem.loop.ops.push_back(
          {"load" + std::to_string(load), 0, between(1, 20), between(20, 60)});
      problem.buffers.push_back(
          {"b" + std::to_string(load), load, {}, Space::shared, between(1, 8) * 16});
      problem.channels.push_back({"c" + std::to_string(load), {load}});
    }
    for (unsigned load = 0; load < loads; ++load) {
      unsigned product = problem.loop.ops.size();
      problem.loop.ops.push_back(
          {"product" + std::to_string(load), 1, between(5, 25), between(25, 40)});
      problem.loop.dependences.push_back({load, product, problem.loop.ops[load].latency});
      if (load)
        problem.loop.dependences.push_back(
            {product - 1, product, problem.loop.ops[product - 1].latency});
      problem.buffers[load].readers.push_back({product, 0});
    }
    problem.limits = {between(100, 900), 0, 0, 65536, 255, 1024, true};
    problem.iterations = 32;
    std::string reason;
    std::optional<PipelinePlan> plan = planPipeline(problem, reason);
    int64_t least = 0;
    for (const Buffer &buffer : problem.buffers)
      least += buffer.size;
    if (!plan) {
      EXPECT_GT(least, problem.limits.sharedBytes) << reason;
      continue;
    }
    EXPECT_EQ(findFault(problem, *plan), std::nullopt);
    // All depths up to the wanted ones.
    int64_t best = std::numeric_limits<int64_t>::max();
    std::vector<int64_t> depths(loads, 1);
    while (true) {
      int64_t bytes = 0;
      for (int64_t i = 0; i < loads; ++i)
        bytes += depths[i] * problem.buffers[i].size;
      if (bytes <= problem.limits.sharedBytes)
        best = std::min(best, std::max(*recurrenceBound(withDepths(problem, depths)),
                                       resourceBound(problem.loop).interval));
      int64_t digit = 0;
      while (digit < loads && ++depths[digit] > plan->channels[digit].wanted)
        depths[digit++] = 1;
      if (digit == loads)
        break;
    }
    std::vector<int64_t> chosen;
    bool less = false;
    for (const ChannelPlan &channel : plan->channels) {
      chosen.push_back(channel.depth);
      less |= channel.depth < channel.wanted;
    }
    shrunk += less;
    EXPECT_EQ(std::max(*recurrenceBound(withDepths(problem, chosen)),
                       resourceBound(problem.loop).interval),
              best);
  }
  EXPECT_GT(shrunk, 50);
}

} // namespace
} // namespace tilewright::pipeline
