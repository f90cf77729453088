// Tests the options of fusion, and the messages of its final verification.
#include "tilewright/transform/fuse/Passes.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using testing::HasSubstr;

namespace {

/// The table of fusions, or the diagnostics.
std::string fused(const std::string &text,
                  const std::function<void(mlir::PassManager &)> &addPasses) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, exec::ExecDialect>();
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &found) {
    complaints += found.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << complaints;
  mlir::PassManager passes(&context);
  addPasses(passes);
  return mlir::succeeded(passes.run(*module)) ? fuse::summarizeFusions(*module) : complaints;
}

std::string fused(const std::string &text, const FuseOptions &options) {
  return fused(text, [&](mlir::PassManager &passes) { fuse::buildFusePipeline(passes, options); });
}

/// x -> tanh(x), `count` times.
std::string chain(int count) {
  std::string text = "func.func @main(%v0: tensor<64xf32>) -> tensor<64xf32> {\n";
  for (int i = 0; i < count; ++i)
    text += "  %v" + std::to_string(i + 1) + " = stablehlo.tanh %v" + std::to_string(i) +
            " : tensor<64xf32>\n";
  return text + "  return %v" + std::to_string(count) + " : tensor<64xf32>\n}\n";
}

} // namespace

TEST(Fuse, AChainIsCutWhereAKernelWouldBeTooLarge) {
  FuseOptions options;
  EXPECT_EQ(fused(chain(8), options), "1 x tanh: 8 ops over 64, 7 joins\n");
  options.maxOps = 4;
  EXPECT_EQ(fused(chain(8), options), "2 x tanh: 4 ops over 64, 3 joins\n");
  options.maxOps = 1;
  EXPECT_EQ(fused(chain(8), options), "8 x tanh: 1 op over 64, an op by itself\n");
}

TEST(Fuse, InputsAndOutputsAreLimited) {
  // The sum of eight inputs.
  std::string text = "func.func @main(";
  for (int i = 0; i < 8; ++i)
    text += std::string(i ? ", " : "") + "%a" + std::to_string(i) + ": tensor<64xf32>";
  text += ") -> tensor<64xf32> {\n  %s0 = stablehlo.add %a0, %a1 : tensor<64xf32>\n";
  for (int i = 1; i < 7; ++i)
    text += "  %s" + std::to_string(i) + " = stablehlo.add %s" + std::to_string(i - 1) + ", %a" +
            std::to_string(i + 1) + " : tensor<64xf32>\n";
  text += "  return %s6 : tensor<64xf32>\n}\n";
  FuseOptions options;
  options.maxOperands = 9;
  EXPECT_EQ(fused(text, options), "1 x add: 7 ops over 64, 6 joins\n");
  options.maxOperands = 5;
  EXPECT_THAT(fused(text, options), testing::Not(HasSubstr("7 ops")));
}

TEST(Fuse, LargeReductionsAreSplitFromAGivenSize) {
  const char *text = R"(
    func.func @main(%x: tensor<65536xf32>, %z: tensor<f32>) -> tensor<f32> {
      %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
          : (tensor<65536xf32>, tensor<f32>) -> tensor<f32>
      return %r : tensor<f32>
    })";
  FuseOptions options;
  EXPECT_THAT(fused(text, options), HasSubstr("over 128x512 reduced over [1]"));
  options.splitReduceElements = 65537;
  EXPECT_EQ(fused(text, options),
            "1 x reduce: 1 op over 65536 reduced over [0], an op by itself\n");
  options.splitReduceElements = 0;
  EXPECT_EQ(fused(text, options),
            "1 x reduce: 1 op over 65536 reduced over [0], an op by itself\n");
}

TEST(Fuse, AttentionIsOneOpUnlessTheOptionSaysOtherwise) {
  const char *text = R"(
    func.func @main(%q: tensor<32x8xf32>, %k: tensor<64x8xf32>, %v: tensor<64x4xf32>) -> tensor<32x4xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
      %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
      %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
      %d = stablehlo.subtract %s, %mb : tensor<32x64xf32>
      %e = stablehlo.exponential %d : tensor<32x64xf32>
      %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
      %lb = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
      %p = stablehlo.divide %e, %lb : tensor<32x64xf32>
      %o = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x4xf32>) -> tensor<32x4xf32>
      return %o : tensor<32x4xf32>
    })";
  FuseOptions options;
  EXPECT_THAT(fused(text, options), testing::Not(HasSubstr("exponential")));
  options.attention = false;
  EXPECT_THAT(fused(text, options), HasSubstr("exponential"));
}

TEST(Fuse, TheClosingCheckNamesTheOp) {
  std::string complaint = fused(chain(1), [](mlir::PassManager &passes) {
    passes.addNestedPass<mlir::func::FuncOp>(fuse::createVerifyFusedPass());
  });
  EXPECT_THAT(complaint, HasSubstr(idOf(Error::fuseResidue)));
  EXPECT_THAT(complaint, HasSubstr("'stablehlo.tanh' is not in a fusion"));
}
