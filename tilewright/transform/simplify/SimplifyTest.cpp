// Tests the phase's error messages, and the effect of its options.
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/simplify/Patterns.h"
#include "tilewright/transform/simplify/RewriteWatch.h"
#include "tilewright/transform/simplify/Rules.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"

#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace tilewright;
using testing::HasSubstr;

namespace {

struct Outcome {
  bool succeeded = false;
  std::string text, complaints;
};

Outcome simplifyText(const char *text, const SimplifyOptions &options = {},
                     bool checkProgress = false) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, mlir::quant::QuantDialect, sdy::SdyDialect,
                      stablehlo::StablehloDialect, exec::ExecDialect>();
  Outcome run;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &found) {
    run.complaints += found.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << run.complaints;
  mlir::PassManager passes(&context);
  simplify::buildSimplifyPipeline(passes, options, checkProgress);
  run.succeeded = mlir::succeeded(passes.run(*module));
  llvm::raw_string_ostream(run.text) << *module;
  return run;
}

constexpr const char *calls = R"(
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.exponential %x : tensor<4xf32>
    %1 = stablehlo.add %0, %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  })";

} // namespace

TEST(Simplify, InliningThatGrowsTooMuchNamesTheOptionToRaise) {
  SimplifyOptions options;
  options.maxOps = 4;
  Outcome run = simplifyText(calls, options);
  EXPECT_FALSE(run.succeeded);
  EXPECT_THAT(run.complaints, HasSubstr(idOf(Error::simplifyTooLarge)));
  EXPECT_THAT(run.complaints, HasSubstr("5 operations"));
  EXPECT_THAT(run.complaints, HasSubstr("raise simplify.max-ops"));

  options.maxOps = 5;
  EXPECT_TRUE(simplifyText(calls, options).succeeded);
}

TEST(Simplify, WhatCannotBeMadeStaticIsNamed) {
  Outcome run = simplifyText(R"(
    func.func @main(%n: tensor<1xi32>) -> tensor<?xi32> {
      %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
      return %0 : tensor<?xi32>
    })");
  EXPECT_FALSE(run.succeeded);
  EXPECT_THAT(run.complaints, HasSubstr(idOf(Error::simplifyResidue)));
  EXPECT_THAT(run.complaints, HasSubstr("stablehlo.dynamic_iota"));
}

TEST(Simplify, FoldingCanBeTurnedOff) {
  const char *text = R"(
    func.func @main() -> tensor<2xf32> {
      %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %1 = stablehlo.exponential %0 : tensor<2xf32>
      return %1 : tensor<2xf32>
    })";
  SimplifyOptions options;
  EXPECT_THAT(simplifyText(text, options).text, testing::Not(HasSubstr("exponential")));
  options.maxFoldElements = 0;
  EXPECT_THAT(simplifyText(text, options).text, HasSubstr("exponential"));
}

TEST(Simplify, FoldingStopsAtItsLimits) {
  const char *text = R"(
    func.func @main() -> tensor<4xf32> {
      %0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %1 = stablehlo.exponential %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    })";
  SimplifyOptions options;
  options.maxFoldElements = 3;
  EXPECT_THAT(simplifyText(text, options).text, HasSubstr("exponential"));
  options.maxFoldElements = 4;
  options.maxFoldSteps = 3;
  EXPECT_THAT(simplifyText(text, options).text, HasSubstr("exponential"));
  options.maxFoldSteps = 4;
  EXPECT_THAT(simplifyText(text, options).text, testing::Not(HasSubstr("exponential")));
}

/// A chain of sums of constants, which two rules once rewrote forever.
TEST(Simplify, SumsOfConstantsComeToAnEnd) {
  const char *text = R"(
    func.func @main(%x: tensor<ui32>) -> (tensor<ui32>, tensor<ui32>) {
      %a = stablehlo.constant dense<13> : tensor<ui32>
      %b = stablehlo.constant dense<17> : tensor<ui32>
      %c = stablehlo.constant dense<19> : tensor<ui32>
      %0 = stablehlo.add %a, %b : tensor<ui32>
      %1 = stablehlo.add %0, %c : tensor<ui32>
      %2 = stablehlo.add %1, %b : tensor<ui32>
      %3 = stablehlo.add %x, %a : tensor<ui32>
      %4 = stablehlo.add %3, %2 : tensor<ui32>
      return %2, %4 : tensor<ui32>, tensor<ui32>
    })";
  for (int64_t maxFoldElements : {0, 4096}) {
    SimplifyOptions options;
    options.maxFoldElements = maxFoldElements;
    options.maxRewrites = 100;
    Outcome run = simplifyText(text, options, /*checkProgress=*/true);
    EXPECT_TRUE(run.succeeded) << run.complaints;
    EXPECT_THAT(run.text, testing::Not(HasSubstr("add %0"))) << run.text;
  }
}

TEST(Simplify, TooManyRewritesNameTheOpAndTheRules) {
  const char *text = R"(
    func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
      %c = stablehlo.constant dense<1> : tensor<4xi32>
      %0 = stablehlo.add %c, %x : tensor<4xi32>
      return %0 : tensor<4xi32>
    })";
  SimplifyOptions options;
  options.maxRewrites = 0;
  Outcome run = simplifyText(text, options);
  EXPECT_FALSE(run.succeeded);
  EXPECT_THAT(run.complaints, HasSubstr(idOf(Error::simplifyEndless)));
  EXPECT_THAT(
      run.complaints,
      HasSubstr(
          "'stablehlo.add' and the ops derived from it were rewritten 1 times, most recently by "
          "constantToTheRight;"));
  options.maxRewrites = 1;
  EXPECT_TRUE(simplifyText(text, options).succeeded);
}

namespace {

/// Swaps the operands of a sum, so it always applies again.
mlir::LogicalResult exchange(stablehlo::AddOp op, mlir::PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<stablehlo::AddOp>(op, op.getType(), op.getRhs(), op.getLhs());
  return mlir::success();
}

/// The watch's report about that rule, registered under the name of another.
std::string watchedExchange(int64_t maxRewrites, bool checksProgress) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect>();
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &found) {
    complaints += found.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
      %0 = stablehlo.add %x, %y : tensor<4xi32>
      return %0 : tensor<4xi32>
    })",
                                                        &context);
  mlir::Operation *function = &module->getBody()->front();
  mlir::RewritePatternSet patterns(&context);
  simplify::addPattern<stablehlo::AddOp>(patterns, "simplifyAdd", exchange);
  simplify::RewriteWatch watch(function, maxRewrites, checksProgress);
  watch.watch(patterns);
  mlir::GreedyRewriteConfig config;
  config.enableFolding(false).setListener(&watch);
  (void)mlir::applyPatternsGreedily(function, std::move(patterns), config);
  EXPECT_TRUE(mlir::failed(watch.verdict()));
  return complaints;
}

} // namespace

/// Each rewrite creates a new op; rewrites are counted for the original op.
TEST(Simplify, RulesThatDoNotEndAreStopped) {
  std::string said = watchedExchange(1000, false);
  EXPECT_THAT(said,
              HasSubstr("'stablehlo.add' and the ops derived from it were rewritten 1001 times"));
  EXPECT_THAT(said, HasSubstr("most recently by simplifyAdd;"));
}

TEST(Simplify, ARuleThatMakesNoProgressIsFoundAtOnce) {
  EXPECT_THAT(watchedExchange(1000, true),
              HasSubstr("rule simplifyAdd made no progress on 'stablehlo.add'"));
}

namespace {

/// Moves the op after a sum in front of it.
mlir::LogicalResult takeNextBefore(stablehlo::AddOp op, mlir::PatternRewriter &rewriter) {
  auto next = mlir::dyn_cast<stablehlo::MultiplyOp>(op->getNextNode());
  if (!next)
    return mlir::failure();
  rewriter.moveOpBefore(next, op);
  return mlir::success();
}

/// Swaps the operands of a product in front of a sum, so it always applies again.
mlir::LogicalResult exchangeMoved(stablehlo::MultiplyOp op, mlir::PatternRewriter &rewriter) {
  if (!mlir::isa<stablehlo::AddOp>(op->getNextNode()))
    return mlir::failure();
  mlir::Value operands[2] = {op.getRhs(), op.getLhs()};
  rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
  return mlir::success();
}

} // namespace

/// A rule that moves another op does not become its origin.
TEST(Simplify, AMovedOpKeepsItsOrigin) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect>();
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &found) {
    complaints += found.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
      %0 = stablehlo.add %x, %y : tensor<4xi32>
      %1 = stablehlo.multiply %x, %y : tensor<4xi32>
      return %0, %1 : tensor<4xi32>, tensor<4xi32>
    })",
                                                        &context);
  mlir::Operation *function = &module->getBody()->front();
  mlir::RewritePatternSet patterns(&context);
  simplify::addPattern<stablehlo::AddOp>(patterns, "simplifyAdd", takeNextBefore);
  simplify::addPattern<stablehlo::MultiplyOp>(patterns, "simplifyMultiply", exchangeMoved);
  simplify::RewriteWatch watch(function, 1000, /*checksProgress=*/false);
  watch.watch(patterns);
  mlir::GreedyRewriteConfig config;
  config.enableFolding(false).setListener(&watch);
  (void)mlir::applyPatternsGreedily(function, std::move(patterns), config);
  EXPECT_TRUE(mlir::failed(watch.verdict()));
  EXPECT_THAT(complaints, HasSubstr("'stablehlo.multiply' and the ops derived from it"));
}

TEST(Simplify, EveryRuleHasAMeasure) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, sdy::SdyDialect, stablehlo::StablehloDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  interpret::OpEvaluator evaluator(*module);
  mlir::RewritePatternSet patterns(&context);
  simplify::addAllPatterns(patterns, evaluator, 4096, 1 << 20);
  std::set<std::string> registered, written;
  for (const std::unique_ptr<mlir::RewritePattern> &pattern : patterns.getNativePatterns())
    registered.insert(pattern->getDebugName().str());
  for (const simplify::RuleRow &row : simplify::rules())
    EXPECT_TRUE(written.insert(row.name.str()).second) << row.name.str() << " comes twice";
  EXPECT_EQ(registered, written);
}
