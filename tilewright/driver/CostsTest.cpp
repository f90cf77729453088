// Costs of programs, compared with a count by hand.
#include "tilewright/driver/Costs.h"
#include "tilewright/artifact/MemoryTimeline.h"
#include "tilewright/artifact/Statistics.h"
#include "tilewright/driver/Compile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::driver;

namespace {

class Costs : public testing::Test {
protected:
  Costs() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  artifact::Executable compileText(llvm::StringRef text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    Result<artifact::Executable> made = compile(*module, {});
    EXPECT_TRUE(made.isOk());
    return *std::move(made);
  }
  mlir::MLIRContext context;
};

TEST_F(Costs, AProductCountsTwoForEachTerm) {
  artifact::Executable made = compileText(R"(
    func.func @main(%x: tensor<8x16xf32>, %y: tensor<16x32xf32>) -> tensor<8x32xf32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
          : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      %1 = stablehlo.exponential %0 : tensor<8x32xf32>
      %2 = stablehlo.add %1, %0 : tensor<8x32xf32>
      return %2 : tensor<8x32xf32>
    })");
  EXPECT_EQ(artifact::statistic(made, "flops of dot_general"), 2 * 8 * 16 * 32);
  EXPECT_EQ(artifact::statistic(made, "flops of add"), 8 * 32);
  EXPECT_EQ(artifact::statistic(made, "flops"), 2 * 8 * 16 * 32 + 8 * 32);
  EXPECT_EQ(artifact::statistic(made, "transcendentals"), 8 * 32);
  // The elementwise ops are an epilogue of the product, so only the last result is written.
  EXPECT_EQ(artifact::statistic(made, "bytes accessed"), 4 * (8 * 16 + 16 * 32 + 8 * 32));
}

TEST_F(Costs, EveryStepHasItsCost) {
  artifact::Executable made = compileText(R"(
    func.func @main(%x: tensor<8x16xf32>, %y: tensor<16x32xf32>, %z: tensor<64xf32>) -> (tensor<8x32xf32>, tensor<64xf32>) {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
          : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      %1 = stablehlo.exponential %z : tensor<64xf32>
      %2 = stablehlo.add %1, %z : tensor<64xf32>
      return %0, %2 : tensor<8x32xf32>, tensor<64xf32>
    })");
  const artifact::StepCosts costs = artifact::stepCostsOf(made);
  ASSERT_EQ(costs.size(), made.blocks.size());
  int64_t products = 0, flops = 0, transcendentals = 0;
  for (const artifact::StepCost &cost : costs[0]) {
    if (cost.kind == artifact::StepCost::Class::product) {
      ++products;
      EXPECT_EQ(cost.batch * cost.m * cost.n * cost.k, 8 * 16 * 32);
      EXPECT_EQ(cost.k, 16);
      EXPECT_EQ(cost.element, numerics::ElementType::f32);
    }
    flops += cost.flops, transcendentals += cost.transcendentals;
  }
  EXPECT_EQ(products, 1);
  EXPECT_EQ(flops, 2 * 8 * 16 * 32 + 64);
  EXPECT_EQ(transcendentals, 64);
}

TEST_F(Costs, AReductionCountsWhatItFoldsAndALoopItsTurns) {
  artifact::Executable made = compileText(R"(
    func.func @main(%x: tensor<64xf32>) -> (tensor<f32>, tensor<64xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
      %i = stablehlo.constant dense<0> : tensor<i32>
      %n = stablehlo.constant dense<100> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%k = %i, %v = %x) : tensor<i32>, tensor<64xf32>
        cond {
          %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %k1 = stablehlo.add %k, %one : tensor<i32>
          %v1 = stablehlo.multiply %v, %v : tensor<64xf32>
          stablehlo.return %k1, %v1 : tensor<i32>, tensor<64xf32>
        }
      return %sum, %r#1 : tensor<f32>, tensor<64xf32>
    })");
  EXPECT_EQ(artifact::statistic(made, "flops of reduce"), 63);
  EXPECT_EQ(artifact::statistic(made, "flops of multiply"), 100 * 64);
  EXPECT_EQ(artifact::statistic(made, "flops"), 63 + 100 * 64) << "integers are no floats";
}

TEST_F(Costs, AttentionCountsBothProductsAndTheSoftmax) {
  artifact::Executable made = compileText(R"(
    func.func @main(%q: tensor<2x32x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x4xf32>) -> tensor<2x32x4xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x32x8xf32>, tensor<2x64x8xf32>) -> tensor<2x32x64xf32>
      %s = stablehlo.tanh %x : tensor<2x32x64xf32>
      %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<2x32x64xf32>, tensor<f32>) -> tensor<2x32xf32>
      %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x64xf32>
      %d = stablehlo.subtract %s, %mb : tensor<2x32x64xf32>
      %e = stablehlo.exponential %d : tensor<2x32x64xf32>
      %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x64xf32>, tensor<f32>) -> tensor<2x32xf32>
      %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x64xf32>
      %p = stablehlo.divide %e, %lb : tensor<2x32x64xf32>
      %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x32x64xf32>, tensor<2x64x4xf32>) -> tensor<2x32x4xf32>
      return %o : tensor<2x32x4xf32>
    })");
  const artifact::StepCosts costs = artifact::stepCostsOf(made);
  ASSERT_EQ(costs.size(), 1u);
  ASSERT_EQ(costs[0].size(), 1u) << "one kernel";
  const artifact::StepCost &cost = costs[0][0];
  EXPECT_EQ(cost.kind, artifact::StepCost::Class::product);
  EXPECT_EQ(cost.flops, 2 * 32 * 64 * (2 * (8 + 4) + 3));
  EXPECT_EQ(cost.transcendentals, 2 * 32 * 64 * 2) << "tanh and exp";
  EXPECT_EQ((std::vector{cost.batch, cost.m, cost.n, cost.k}),
            (std::vector<int64_t>{2, 32, 64, 8}));
  EXPECT_EQ(cost.bytes, 4 * (2 * 32 * 8 + 2 * 64 * 8 + 2 * 64 * 4 + 2 * 32 * 4));
}

/// Two large temporaries, one after the other in the plan, and a third one alive beside each.
TEST_F(Costs, TheMemoryTimelineFillsTheArenaAndNothingOverlaps) {
  artifact::Executable made = compileText(R"(
    func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %3 = stablehlo.dot_general %2, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      return %3 : tensor<64x64xf32>
    })");
  std::optional<artifact::MemoryTimeline> memory = artifact::MemoryTimeline::of(made);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->peakBytes, made.arenaBytes[0]);
  EXPECT_EQ(memory->peakBytes, 2 * 64 * 64 * 4) << "one is in the memory of the result";
  EXPECT_EQ(memory->steps.size(), 4u);
  for (const auto &a : memory->buffers)
    for (const auto &b : memory->buffers)
      if (&a != &b && a.begin <= b.end && b.begin <= a.end) {
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
}

} // namespace
