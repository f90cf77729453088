// What the two stages say when they cannot go on, and what options change.
#include "tilewright/transform/simplify/Passes.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using testing::HasSubstr;

namespace {

struct Outcome {
  bool succeeded = false;
  std::string text, complaints;
};

Outcome simplifyText(const char *text, const SimplifyOptions &options = {}) {
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
  simplify::buildSimplifyPipeline(passes, options);
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
