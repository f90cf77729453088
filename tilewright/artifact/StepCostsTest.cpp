#include "tilewright/artifact/StepCosts.h"

#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/Statistics.h"
#include "tilewright/artifact/Writer.h"
#include "tilewright/artifact/testing/SampleExecutable.h"

#include <gtest/gtest.h>

namespace tilewright::artifact {
namespace {

StepCosts costsFor(const Executable &executable) {
  StepCosts costs;
  for (const Block &block : executable.blocks) {
    costs.emplace_back();
    for (const Step &step : block.steps)
      costs.back().push_back(costOf(executable, step));
  }
  return costs;
}

TEST(StepCosts, SurviveTheFile) {
  Executable executable = sampleExecutable();
  StepCosts costs = costsFor(executable);
  costs[0][0].flops = int64_t(1) << 60;
  costs[0][0].kind = StepCost::Class::product;
  costs[0][0].element = ElementType::bf16;
  addStepCosts(executable, costs);
  Result<Executable> read = readExecutable(writeExecutable(executable));
  ASSERT_TRUE(read.isOk());
  EXPECT_EQ(stepCostsOf(*read), costs);
}

TEST(StepCosts, CountWhatStepsReadAndWrite) {
  const Executable executable = sampleExecutable();
  const StepCosts costs = costsFor(executable);
  EXPECT_EQ(costs[0][0].bytes, 3 * 128); // a launch with three buffers
  EXPECT_EQ(costs[0][0].kind, StepCost::Class::memory);
  EXPECT_EQ(costs[0][2].kind, StepCost::Class::call);
}

TEST(StepCosts, AProductOfTheLibraryHasItsShape) {
  Executable executable;
  executable.types = {{ElementType::bf16, {4, 8, 16}},
                      {ElementType::bf16, {4, 16, 32}},
                      {ElementType::f32, {4, 8, 32}}};
  executable.libraries = {{DotGeneralCall{.lhsBatchingDimensions = {0},
                                          .rhsBatchingDimensions = {0},
                                          .lhsContractingDimensions = {2},
                                          .rhsContractingDimensions = {1}},
                           {}}};
  const Step step{LibraryStep{0, {{{0, 0, 1024}, 0}, {{0, 0, 4096}, 1}}, {{{0, 0, 4096}, 2}}},
                  "dot", "", ""};
  const StepCost cost = costOf(executable, step);
  EXPECT_EQ(cost.kind, StepCost::Class::product);
  EXPECT_EQ(cost.element, ElementType::bf16);
  EXPECT_EQ(cost.batch, 4);
  EXPECT_EQ(cost.m, 8);
  EXPECT_EQ(cost.n, 32);
  EXPECT_EQ(cost.k, 16);
  EXPECT_EQ(cost.flops, 2 * 4 * 8 * 32 * 16);
  EXPECT_EQ(cost.bytes, 1024 + 4096 + 4096);
}

/// A byte of a scaled side is two elements, and elements times scales are multiplied as bf16.
TEST(StepCosts, AScaledProductCountsPackedElements) {
  Executable executable;
  executable.types = {{ElementType::ui8, {8, 16}},
                      {ElementType::f8E4M3FN, {64, 32}},
                      {ElementType::f8E4M3FN, {8, 2}},
                      {ElementType::f8E4M3FN, {64, 2}},
                      {ElementType::f32, {8, 64}}};
  executable.libraries = {{DotGeneralCall{.lhsContractingDimensions = {1},
                                          .rhsContractingDimensions = {1},
                                          .block = 16},
                           {}}};
  const Step step{
      LibraryStep{0,
                  {{{0, 0, 128}, 0}, {{0, 0, 2048}, 1}, {{0, 0, 16}, 2}, {{0, 0, 128}, 3}},
                  {{{0, 0, 2048}, 4}}},
      "dot", "", ""};
  const StepCost cost = costOf(executable, step);
  EXPECT_EQ(cost.element, ElementType::bf16);
  EXPECT_EQ(cost.k, 32);
  EXPECT_EQ(cost.flops, 2 * 8 * 64 * 32);
}

/// Statistics are not checked on load, so every damage must end here.
TEST(StepCosts, DamagedCostsAreNone) {
  Executable executable = sampleExecutable();
  EXPECT_TRUE(stepCostsOf(executable).empty());
  size_t steps = 0;
  for (const Block &block : executable.blocks)
    steps += block.steps.size();
  for (int damage = 0; damage < 4; ++damage) {
    Executable damaged = sampleExecutable();
    std::vector<int64_t> values(steps * 9, 1);
    if (damage == 1)
      values.pop_back();
    else if (damage == 2)
      values[3] = -1;
    else if (damage == 3)
      values[9] = 4; // an unknown class
    addStatistic(damaged, "step-costs", values);
    EXPECT_EQ(stepCostsOf(damaged).empty(), damage != 0) << damage;
  }
}

} // namespace
} // namespace tilewright::artifact
