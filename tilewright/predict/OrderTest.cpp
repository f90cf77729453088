#include "tilewright/predict/Order.h"
#include "tilewright/predict/BackwardOrder.h"
#include "tilewright/predict/XlaOrder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace tilewright::predict {
namespace {

using Kind = OrderStep::Kind;
using ::testing::ElementsAre;

/// Builds a block step by step; each step defines one buffer of 100 bytes.
struct Builder {
  OrderProblem problem;

  unsigned compute(double time, std::vector<unsigned> reads = {}) {
    OrderStep step;
    step.time = time;
    return add(std::move(step), std::move(reads));
  }
  /// Returns the done; the start has the number before it.
  unsigned collective(double time, std::vector<unsigned> reads, unsigned lane = 0) {
    OrderStep begin, done;
    begin.kind = Kind::start;
    begin.time = time;
    begin.lane = done.lane = lane;
    const unsigned start = add(std::move(begin), std::move(reads));
    done.kind = Kind::done;
    done.partner = start;
    done.after = {start};
    const auto number = static_cast<unsigned>(problem.steps.size());
    problem.steps[start].partner = number;
    problem.steps.push_back(done);
    bufferOf.push_back(bufferOf[start]);
    return number;
  }
  void returns(unsigned step) { problem.returned.push_back(bufferOf[step]); }

private:
  unsigned add(OrderStep step, std::vector<unsigned> reads) {
    const auto number = static_cast<unsigned>(problem.steps.size());
    for (unsigned read : reads)
      step.reads.push_back(bufferOf[read]);
    step.after = std::move(reads);
    step.defines = {static_cast<unsigned>(problem.bytes.size())};
    bufferOf.push_back(static_cast<unsigned>(problem.bytes.size()));
    problem.bytes.push_back(100);
    problem.steps.push_back(std::move(step));
    return number;
  }
  std::vector<unsigned> bufferOf;
};

std::vector<unsigned> programOrder(const OrderProblem &problem) {
  std::vector<unsigned> order(problem.steps.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

/// Every step once, behind the steps that must come first.
void expectValid(const OrderProblem &problem, const std::vector<unsigned> &order) {
  std::vector<size_t> at(problem.steps.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i)
    at[order[i]] = i;
  ASSERT_EQ(order.size(), problem.steps.size());
  for (unsigned i = 0; i < order.size(); ++i) {
    ASSERT_LT(at[i], order.size()) << "step " << i << " is missing";
    for (unsigned before : problem.steps[i].after)
      ASSERT_LT(at[before], at[i]);
  }
}

TEST(Order, ASumOfGradientsHidesBehindTheRestOfTheBackwardPass) {
  Builder b;
  const unsigned g1 = b.compute(10);         // 0
  const unsigned s1 = b.collective(8, {g1}); // 1, 2
  const unsigned u1 = b.compute(1, {s1});    // 3: the update
  const unsigned g0 = b.compute(10, {g1});   // 4
  b.returns(u1), b.returns(g0);

  EXPECT_THAT(chooseOrder(b.problem, 100), ElementsAre(0, 1, 4, 2, 3));
  EXPECT_EQ(costOf(b.problem, programOrder(b.problem)).exposed, 8);
  EXPECT_EQ(costOf(b.problem, chooseOrder(b.problem, 100)).exposed, 0);
}

TEST(Order, AGatherOfWeightsBeginsWhileTheLayerBeforeIsComputed) {
  Builder b;
  const unsigned w1 = b.collective(5, {});     // 0, 1
  const unsigned x1 = b.compute(10, {w1});     // 2
  const unsigned w2 = b.collective(5, {});     // 3, 4
  const unsigned x2 = b.compute(10, {x1, w2}); // 5
  b.returns(x2);

  const std::vector<unsigned> order = chooseOrder(b.problem, 100);

  EXPECT_EQ(costOf(b.problem, order).time, 25); // only the first gather is exposed
}

TEST(Order, TheMemoryLimitKeepsGathersFromBeginningAllAtOnce) {
  Builder b;
  unsigned x = b.compute(1);
  for (int layer = 0; layer < 12; ++layer)
    x = b.compute(10, {x, b.collective(9, {})});
  b.returns(x);
  const OrderCost before = costOf(b.problem, programOrder(b.problem));

  const OrderCost strict = costOf(b.problem, chooseOrder(b.problem, 0));
  const OrderCost ample = costOf(b.problem, chooseOrder(b.problem, 100));

  EXPECT_EQ(strict.peak, before.peak);
  EXPECT_LE(ample.peak, 2 * before.peak);
  EXPECT_LT(ample.exposed, 0.25 * before.exposed);
}

TEST(Order, AChainOfCollectivesAndComputationsKeepsItsOrder) {
  Builder b;
  unsigned x = b.compute(1);
  for (int layer = 0; layer < 4; ++layer)
    x = b.compute(10, {b.collective(9, {x})});
  b.returns(x);

  EXPECT_EQ(chooseOrder(b.problem, 100), programOrder(b.problem));
}

TEST(Order, WhatAStartNeedsRunsBeforeOtherSteps) {
  Builder b;
  const unsigned y = b.compute(10);           // 0
  const unsigned next = b.compute(1);         // 1: the counter of the next iteration
  const unsigned w = b.collective(8, {next}); // 2, 3
  b.returns(y), b.returns(w);

  EXPECT_THAT(chooseOrder(b.problem, 100), ElementsAre(1, 2, 0, 3));
}

TEST(Order, ACollectiveIsNotSeparatedForLessThanThatCosts) {
  Builder b;
  b.problem.separation = 3;
  const unsigned x = b.compute(1);
  const unsigned sum = b.collective(9, {x});
  b.returns(b.compute(1, {sum})), b.returns(b.compute(2, {x}));
  EXPECT_EQ(chooseOrder(b.problem, 100), programOrder(b.problem));

  b.problem.separation = 1;
  EXPECT_NE(chooseOrder(b.problem, 100), programOrder(b.problem));
}

/// All gathers can start at once; the order in which the program lists them says nothing.
TEST(Order, GathersStartInTheOrderInWhichTheyAreNeeded) {
  Builder b;
  std::vector<unsigned> weights;
  for (int layer = 0; layer < 8; ++layer)
    weights.push_back(b.collective(9, {}));
  unsigned x = b.compute(1);
  for (int layer = 8; layer-- > 0;)
    x = b.compute(10, {std::min(x, weights[static_cast<size_t>(layer)]),
                       std::max(x, weights[static_cast<size_t>(layer)])});
  b.returns(x);

  EXPECT_EQ(costOf(b.problem, chooseOrder(b.problem, 100)).exposed, 8); // the first, but for a step
  EXPECT_EQ(costOf(b.problem, xlaLatencyHidingOrder(b.problem)).exposed, 8);
  EXPECT_EQ(costOf(b.problem, xlaOrder(b.problem)).exposed, 71); // all, but for a step
}

TEST(Order, LanesRunBesideEachOther) {
  Builder b;
  const unsigned x = b.compute(1);
  const unsigned one = b.collective(9, {x}, 0), other = b.collective(9, {x}, 1);
  b.returns(b.compute(1, {one})), b.returns(b.compute(1, {other}));

  EXPECT_EQ(costOf(b.problem, chooseOrder(b.problem, 100)).time, 12);
}

TEST(Order, EveryOrderRespectsDependencesAndTheLimit) {
  std::mt19937 random(7);
  auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  for (int round = 0; round < 400; ++round) {
    Builder b;
    std::vector<unsigned> values{b.compute(1)};
    for (unsigned i = 0, count = 1 + draw(40); i < count; ++i) {
      std::vector<unsigned> reads;
      for (unsigned r = draw(3); r > 0; --r)
        reads.push_back(values[draw(static_cast<unsigned>(values.size()))]);
      std::sort(reads.begin(), reads.end());
      reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
      values.push_back(draw(3) == 0 ? b.collective(1 + draw(20), reads, draw(2))
                                    : b.compute(1 + draw(20), reads));
      if (draw(8) == 0)
        b.returns(values.back());
    }
    const int64_t percent = draw(3) * 50;
    const std::vector<unsigned> order = chooseOrder(b.problem, percent);

    expectValid(b.problem, order);
    expectValid(b.problem, backwardOrder(b.problem, true));
    expectValid(b.problem, backwardOrder(b.problem, false));
    expectValid(b.problem, xlaOrder(b.problem));
    expectValid(b.problem, xlaLatencyHidingOrder(b.problem));
    ASSERT_FALSE(::testing::Test::HasFailure()) << "in round " << round;
    const OrderCost before = costOf(b.problem, programOrder(b.problem)),
                    after = costOf(b.problem, order);
    EXPECT_LE(after.time, before.time);
    EXPECT_LE(after.peak, before.peak + before.peak / 100 * percent);
  }
}

} // namespace
} // namespace tilewright::predict
