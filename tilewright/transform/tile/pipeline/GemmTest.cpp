#include "tilewright/transform/tile/pipeline/Gemm.h"

#include "tilewright/transform/tile/pipeline/ModuloSchedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::pipeline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// A fictitious chip of the Hopper kind, with round numbers.
Machine machineWithRoles() {
  Machine machine;
  machine.chip = "test";
  machine.processors = 100;
  machine.limits = {232448, 0, 0, 65536, 255, 1024, true};
  machine.matrixUnit = MatrixUnit::wgmma;
  machine.products["f16"] = 2048;
  machine.matrixLatency = 60;
  machine.copyLatency = 1000;
  machine.l2BytesPerCycle = 4000;
  machine.memoryBytesPerCycle = 1500;
  machine.cluster = 2;
  return machine;
}

TEST(Gemm, EveryChoiceCanBeBuilt) {
  Machine machine = machineWithRoles();
  for (Gemm gemm :
       {Gemm{4096, 4096, 4096}, Gemm{1, 1, 1}, Gemm{1000, 8, 70}, Gemm{16, 16384, 512, 8}}) {
    std::vector<GemmChoice> ranked = rankTiles(gemm, machine);
    ASSERT_FALSE(ranked.empty());
    for (const GemmChoice &choice : ranked) {
      EXPECT_EQ(findFault(gemmProblem(gemm, machine, choice), choice.plan), std::nullopt);
      EXPECT_LE(choice.plan.sharedBytes, machine.limits.sharedBytes);
      EXPECT_LE(choice.efficiency, 1.0);
      EXPECT_GE(choice.cycles, ranked.front().cycles);
    }
  }
}

TEST(Gemm, AccumulatorOfOneGroupIsNoChoice) {
  // 256x256 needs 256 accumulator registers in each of 256 threads.
  for (const GemmChoice &choice : rankTiles({4096, 4096, 4096}, machineWithRoles()))
    EXPECT_FALSE(choice.m == 256 && choice.n >= 224) << choice.m << "x" << choice.n;
}

TEST(Gemm, SharingColumnsHalvesWhatIsReadOfThem) {
  Machine machine = machineWithRoles();
  Gemm gemm{4096, 4096, 4096};
  GemmChoice alone{128, 256, 64}, pair{128, 256, 64, 2, 1};
  EXPECT_EQ(gemmProblem(gemm, machine, alone).loop.ops[1].occupancy,
            820); // 32,768 bytes at 40 a cycle
  EXPECT_EQ(gemmProblem(gemm, machine, pair).loop.ops[1].occupancy, 410);
  EXPECT_EQ(gemmProblem(gemm, machine, pair).loop.ops[0].occupancy, 410);
}

TEST(Gemm, ALeftSideThatIsComputedTakesRegistersAndInstructions) {
  Machine machine = machineWithRoles();
  Gemm plain{4096, 4096, 4096}, computed = plain;
  computed.lhsBits = 8;
  computed.lhsIsComputed = true;
  // 64x64 elements for 128 threads: 32 elements of 16 bits, and 32 bytes that are read in twos.
  GemmChoice tile{128, 128, 64};
  EXPECT_EQ(gemmProblem(computed, machine, tile).roles[1].registers,
            gemmProblem(plain, machine, tile).roles[1].registers + 32);
  // With too few columns, the MMAs do not hide the prologue, and it becomes the limit.
  GemmChoice narrow{128, 16, 64};
  EXPECT_EQ(gemmProblem(computed, machine, narrow).loop.units[1].name, "the prologue");
  EXPECT_EQ(gemmProblem(computed, machine, tile).loop.units[1].name, "the tensor core");
  std::vector<GemmChoice> ranked = rankTiles(computed, machine);
  ASSERT_FALSE(ranked.empty());
  EXPECT_EQ(ranked.front().k, 64) << "as deep as a line of what stays in shared memory";
  EXPECT_THAT(explainChoice(computed, machine, ranked), HasSubstr("goes through registers"));
}

TEST(Gemm, ARightSideThatIsComputedTooHasARoleAndTwoChannels) {
  Machine machine = machineWithRoles();
  Gemm both{4096, 4096, 4096};
  both.lhsBits = both.rhsBits = 8;
  both.lhsIsComputed = both.rhsIsComputed = true;
  GemmChoice tile{128, 128, 64};
  PipelineProblem problem = gemmProblem(both, machine, tile);
  ASSERT_EQ(problem.roles.size(), 3u);
  EXPECT_EQ(problem.roles[2].warps, 4);
  // A slot has 128x64 bytes; where the instruction reads it, twice as many.
  EXPECT_EQ(problem.buffers[rawRhs].size, 8192);
  EXPECT_EQ(problem.buffers[computedRhs].size, 16384);
  // The warps of both prologues share schedulers: 16,384 elements at 4 instructions, 128 in a
  // cycle.
  EXPECT_EQ(problem.loop.units[1].name, "the tensor core");
  EXPECT_EQ(problem.loop.ops[2].occupancy, 512 + 16);
  EXPECT_EQ(gemmProblem(both, machine, {64, 128, 64}).loop.units[1].name, "the prologue");
  std::vector<GemmChoice> ranked = rankTiles(both, machine);
  ASSERT_FALSE(ranked.empty());
  for (const GemmChoice &choice : ranked) {
    EXPECT_EQ(findFault(gemmProblem(both, machine, choice), choice.plan), std::nullopt);
    EXPECT_EQ(choice.n % 16, 0) << "four warps write at least 16 columns";
  }
  EXPECT_THAT(explainChoice(both, machine, ranked), HasSubstr("both operands have a prologue"));
}

TEST(Gemm, BytesAndNotElementsDecideWhatIsInTheWay) {
  Machine machine = machineWithRoles();
  machine.products["f32"] = 2048; // as fast as f16, so only the bytes differ
  Gemm half{8192, 64, 8192}, single{8192, 64, 8192, 1, "f32", 32, 32, 32};
  EXPECT_NEAR(double(rankTiles(single, machine).front().memoryCycles) /
                  rankTiles(half, machine).front().memoryCycles,
              2.0, 0.1);
}

TEST(Gemm, LastWaveCounts) {
  Machine machine = machineWithRoles();
  // With 128x256 tiles, 100 tiles fill the machine once and 101 need two waves.
  auto cyclesOf = [&](int64_t columns) {
    for (const GemmChoice &choice : rankTiles({128, columns, 4096}, machine))
      if (choice.m == 128 && choice.n == 256 && choice.clusterM * choice.clusterN == 1)
        return choice.computeCycles;
    return int64_t(0);
  };
  int64_t full = cyclesOf(100 * 256);
  EXPECT_EQ(cyclesOf(99 * 256), full);
  EXPECT_GT(cyclesOf(101 * 256), full * 19 / 10);
}

/// A single wave gains nothing from persistence; with more, only the first tile waits for its
/// copies.
TEST(Gemm, PersistentWhereThereIsMoreThanOneWave) {
  Machine machine = machineWithRoles();
  std::string reason;
  auto costOf = [&](int64_t tiles) {
    return *costOfTile({128, tiles * 256, 4096}, machine, {128, 256, 64}, reason);
  };
  GemmChoice one = costOf(100), three = costOf(300);
  EXPECT_FALSE(one.persistent);
  EXPECT_TRUE(three.persistent);
  EXPECT_LT(three.computeCycles, 3 * one.computeCycles);
  EXPECT_THAT(three.reasons, Contains(HasSubstr("100 CTAs compute one tile after the other")));
  EXPECT_THAT(one.reasons, Contains(HasSubstr("each tile has a CTA of its own")));
}

/// A wave of 100 tiles of 128x256 reads fewer bytes as 8 rows and 13 columns than as 1 and 100, or
/// as 16 and 7.
TEST(Gemm, RasterMakesAWaveReadLeast) {
  Machine machine = machineWithRoles();
  std::string reason;
  auto costOf = [&](Gemm gemm) { return *costOfTile(gemm, machine, {128, 256, 64}, reason); };
  Gemm gemm{16384, 32768, 16384};
  EXPECT_EQ(costOf(gemm).raster, 16);
  gemm.order = Gemm::Order::alongM;
  EXPECT_EQ(costOf(gemm).raster, 8);
  EXPECT_THAT(costOf(gemm).reasons, Contains(HasSubstr("points go down 8 rows")));
  int64_t rastered = costOf(gemm).memoryCycles;
  gemm.order = Gemm::Order::fixed;
  EXPECT_EQ(costOf(gemm).raster, 1);
  EXPECT_GT(costOf(gemm).memoryCycles, rastered);
  // A single wave reads the same in any order; and data that stays in L2 is not read again.
  EXPECT_EQ(costOf({1280, 2560, 16384}).raster, 1);
  gemm = {8192, 8192, 128};
  machine.l2Bytes = 50'000'000;
  EXPECT_EQ(costOf(gemm).raster, 1);
}

/// The copy engine stores one tile while the next is multiplied; in one wave there is no next.
TEST(Gemm, ResultsAreStagedWhereThatHidesTheirStores) {
  Machine machine = machineWithRoles();
  std::string reason;
  auto costOf = [&](int64_t tiles, int64_t n, bool canStage) {
    Gemm gemm{128, tiles * n, 4096};
    gemm.canStage = canStage;
    return *costOfTile(gemm, machine, {128, n, 64}, reason);
  };
  GemmChoice many = costOf(300, 256, true);
  EXPECT_TRUE(many.staged);
  EXPECT_LT(many.computeCycles, costOf(300, 256, false).computeCycles);
  EXPECT_EQ(many.plan.sharedBytes, costOf(300, 256, false).plan.sharedBytes + 128 * 256 * 2);
  EXPECT_THAT(many.reasons, Contains(HasSubstr("by the copy engine: ")));
  EXPECT_FALSE(costOf(100, 256, true).staged);
  EXPECT_THAT(costOf(100, 256, true).reasons,
              Contains(HasSubstr("stored from registers and not by the copy engine")));
  EXPECT_FALSE(costOf(300, 96, true).staged) << "a line is 64 columns";
  // Do not stage if that would cost a slot that the pipeline needs.
  machine.limits.sharedBytes = 3 * 49152 + 2048 + 60000;
  EXPECT_FALSE(costOf(300, 256, true).staged);
}

/// Scales are in the slots, and take columns of tensor memory, beside which only one accumulator of
/// 256 columns fits, but two of 128.
TEST(Gemm, ScalesTakeColumnsOfTensorMemory) {
  Machine machine = machineWithRoles();
  machine.matrixUnit = MatrixUnit::tcgen05;
  machine.limits.tensorColumns = 512;
  machine.products["f8"] = 8192;
  std::string reason;
  Gemm gemm{4096, 4096, 4096, 1, "f8", 8, 8, 32};
  gemm.scaleBytes = 16;
  std::optional<GemmChoice> wide = costOfTile(gemm, machine, {128, 256, 128}, reason);
  ASSERT_TRUE(wide) << reason;
  EXPECT_EQ(wide->accumulators, 1);
  EXPECT_EQ(scaleColumns(gemm, 128, 256), 48);
  EXPECT_EQ(gemmProblem(gemm, machine, *wide).buffers[1].size, 256 * (128 + 16));
  std::optional<GemmChoice> narrow = costOfTile(gemm, machine, {128, 96, 128}, reason);
  ASSERT_TRUE(narrow) << reason;
  EXPECT_EQ(narrow->accumulators, 2);
  EXPECT_EQ(gemmProblem(gemm, machine, *narrow).buffers[1].size, 96 * 128 + 128 * 16);
}

/// The accumulator passes from the role that multiplies to the epilogue, in two slots, and the unit
/// frees the operands' slots itself.
TEST(Gemm, AccumulatorsInTensorMemoryAreAChannel) {
  Machine machine = machineWithRoles();
  machine.matrixUnit = MatrixUnit::tcgen05;
  machine.limits.tensorColumns = 512;
  std::string reason;
  Gemm gemm{4096, 4096, 4096};
  std::optional<GemmChoice> choice = costOfTile(gemm, machine, {128, 256, 64}, reason);
  ASSERT_TRUE(choice) << reason;
  EXPECT_EQ(choice->plan.tensorColumns, 512);
  EXPECT_EQ(choice->plan.threads, 10 * 32);
  EXPECT_EQ(choice->plan.roles[tensorEpilogue].groups, 2);
  EXPECT_EQ(choice->plan.channels[0].lag, 0);
  PipelineProblem problem = gemmProblem(gemm, machine, *choice);
  ChannelGraph graph = channelGraph(problem, choice->plan);
  EXPECT_EQ(findDeadlock(graph), std::nullopt);
  // A role must not publish before it acquires.
  std::swap(graph.roles[tensorMma].segments.front(), graph.roles[tensorMma].segments.back());
  EXPECT_NE(findDeadlock(graph), std::nullopt);
  machine.limits.tensorColumns = 256;
  EXPECT_FALSE(costOfTile(gemm, machine, {128, 256, 64}, reason));
  EXPECT_THAT(reason, HasSubstr("512 columns of tensor memory, but only 256 are available"));
  // 64 rows use half of the unit.
  machine.limits.tensorColumns = 512;
  EXPECT_EQ(gemmProblem(gemm, machine, {64, 256, 64}).loop.ops[2].occupancy,
            gemmProblem(gemm, machine, {128, 256, 64}).loop.ops[2].occupancy);
  // A type that only mma.sync multiplies.
  machine.warpTypes.insert("f16");
  EXPECT_TRUE(rankTiles(gemm, machine).empty());
  EXPECT_FALSE(rankTiles(gemm, withWarpProducts(machine)).empty());
}

/// A left operand that threads compute goes through three channels: raw in shared memory, then in
/// tensor memory, beside the right one. Its slots and the accumulators share the columns.
TEST(Gemm, AComputedOperandInTensorMemoryHasItsOwnRole) {
  Machine machine = machineWithRoles();
  machine.matrixUnit = MatrixUnit::tcgen05;
  machine.limits.tensorColumns = 512;
  machine.products["f16"] = 4096;
  machine.l2BytesPerCycle = 6400;
  std::string reason;
  Gemm gemm{4096, 4096, 4096};
  gemm.lhsBits = 8;
  gemm.lhsIsComputed = true;
  std::optional<GemmChoice> choice = costOfTile(gemm, machine, {128, 224, 64}, reason);
  ASSERT_TRUE(choice) << reason;
  EXPECT_EQ(choice->accumulators, 2);
  EXPECT_EQ(choice->plan.channels[tensorLhs].depth, 2);
  EXPECT_EQ(choice->plan.tensorColumns, 2 * 224 + 2 * 32);
  PipelineProblem problem = gemmProblem(gemm, machine, *choice);
  EXPECT_EQ(problem.buffers[0].size, 128 * 64) << "raw bytes";
  EXPECT_EQ(findFault(problem, choice->plan), std::nullopt);
  // The epilogue has 112 registers of the accumulator; roles that share a warpgroup have equally
  // many.
  EXPECT_EQ(choice->plan.threads, 16 * 32);
  EXPECT_GE(choice->plan.roles[tensorEpilogue].registers, 112 + 56);
  EXPECT_EQ(choice->plan.roles[tensorIdle].registers, choice->plan.roles[tensorLoad].registers);
  EXPECT_EQ(choice->plan.roles[tensorIdle].registers, choice->plan.roles[tensorMma].registers);
  // All wait for each other in a circle if the role that multiplies takes the operand before it has
  // an accumulator that only this operand's slot would free.
  ChannelGraph graph = channelGraph(problem, choice->plan);
  EXPECT_EQ(findDeadlock(graph), std::nullopt);
  graph.channels[tensorLhs].depth = 0;
  EXPECT_THAT(findDeadlock(graph).value_or(""), HasSubstr("computed lhs"));
  // Beside 256 columns of an accumulator there is no place for another one and two slots.
  machine.limits.registers = 1 << 17;
  std::optional<GemmChoice> wide = costOfTile(gemm, machine, {128, 256, 64}, reason);
  ASSERT_TRUE(wide) << reason;
  EXPECT_EQ(wide->accumulators, 1);
  machine.limits.tensorColumns = 256;
  EXPECT_FALSE(costOfTile(gemm, machine, {128, 256, 64}, reason));
  EXPECT_THAT(reason, HasSubstr("columns of tensor memory"));
  // If there are few columns, the threads cannot compute as fast as the unit multiplies.
  machine.limits.tensorColumns = 512;
  EXPECT_EQ(costOfTile(gemm, machine, {128, 32, 64}, reason)->plan.schedule.interval, 256);
}

TEST(Gemm, MachineWithoutTheTypeHasNoTile) {
  Machine machine = machineWithRoles();
  Gemm gemm{64, 64, 64, 1, "f4", 4, 4, 16};
  std::vector<GemmChoice> ranked = rankTiles(gemm, machine);
  EXPECT_TRUE(ranked.empty());
  EXPECT_EQ(explainChoice(gemm, machine, ranked), "test has no tile for a product of f4");
}

TEST(Gemm, ExplanationSaysWhy) {
  Machine machine = machineWithRoles();
  Gemm gemm{4096, 4096, 4096};
  std::string text = explainChoice(gemm, machine, rankTiles(gemm, machine));
  EXPECT_THAT(text, HasSubstr("for 4096x4096x4096 of f16 on test"));
  EXPECT_THAT(text, HasSubstr("wave"));
  EXPECT_THAT(text, HasSubstr("operands has"));
  EXPECT_THAT(text, HasSubstr("next is"));
}

} // namespace
} // namespace tilewright::pipeline
