#include "tilewright/transform/tile/pipeline/Gemm.h"

#include "tilewright/transform/tile/pipeline/ModuloSchedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::pipeline {
namespace {

using ::testing::HasSubstr;

/// Round numbers of no chip in particular, of the kind of Hopper.
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
  // 256x256 is 256 registers of each of 256 threads.
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
  computed.lhsInRegisters = true;
  // 64x64 elements for 128 threads: 32 of 16 bits, and 32 bytes that are read two by two.
  GemmChoice tile{128, 128, 64};
  EXPECT_EQ(gemmProblem(computed, machine, tile).roles[1].registers,
            gemmProblem(plain, machine, tile).roles[1].registers + 32);
  // As many columns as hide what is computed for the rows, else it is what the product waits for.
  GemmChoice narrow{128, 16, 64};
  EXPECT_EQ(gemmProblem(computed, machine, narrow).loop.units[1].name,
            "what is computed on the way to the product");
  EXPECT_EQ(gemmProblem(computed, machine, tile).loop.units[1].name, "the tensor core");
  std::vector<GemmChoice> ranked = rankTiles(computed, machine);
  ASSERT_FALSE(ranked.empty());
  EXPECT_EQ(ranked.front().k, 64) << "as deep as a line of what stays in shared memory";
  EXPECT_THAT(explainChoice(computed, machine, ranked), HasSubstr("goes through registers"));
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
  // 128x256 tiles: 100 of them fill the machine, 101 need it twice.
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
