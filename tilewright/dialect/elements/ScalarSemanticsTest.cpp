// Tests regions as functions; transform/tile's ElementwiseTest tests single ops on every type.
#include "tilewright/dialect/elements/ScalarSemantics.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::elements {

using testing::HasSubstr;

namespace {
class ScalarFunctionTest : public testing::Test {
protected:
  /// Builds @body from the region of the first op that has one.
  mlir::FailureOr<mlir::func::FuncOp> build(const std::string &text) {
    context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
    for (mlir::Operation &op : main.getBody().front())
      if (op.getNumRegions() != 0)
        return buildScalarFunction(op.getRegion(0), "body", *module);
    return mlir::failure();
  }
  static std::string textOf(mlir::func::FuncOp function) {
    std::string text;
    llvm::raw_string_ostream(text) << function;
    return text;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
} // namespace

TEST_F(ScalarFunctionTest, ABodyBecomesAPrivateFunctionOfScalars) {
  auto function = build(R"(
    func.func @main(%x: tensor<8xui8>, %i: tensor<ui8>) -> tensor<ui8> {
      %r = stablehlo.reduce(%x init: %i) across dimensions = [0]
          : (tensor<8xui8>, tensor<ui8>) -> tensor<ui8>
          reducer(%a: tensor<ui8>, %b: tensor<ui8>) {
        %two = stablehlo.constant dense<2> : tensor<ui8>
        %h = stablehlo.divide %b, %two : tensor<ui8>
        %m = stablehlo.maximum %a, %h : tensor<ui8>
        stablehlo.return %m : tensor<ui8>
      }
      return %r : tensor<ui8>
    })");
  ASSERT_TRUE(mlir::succeeded(function));
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  EXPECT_TRUE(function->isPrivate());
  EXPECT_THAT(textOf(*function), HasSubstr("@body(%arg0: i8, %arg1: i8) -> i8"));
  EXPECT_THAT(textOf(*function), HasSubstr("arith.divui"));
  EXPECT_THAT(textOf(*function), HasSubstr("arith.maxui"));
}

TEST_F(ScalarFunctionTest, AComparatorTakesPairs) {
  auto function = build(R"(
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xi32>) -> tensor<8xf32> {
      %r:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
        %lt = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %lt : tensor<i1>
      }) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
      return %r#0 : tensor<8xf32>
    })");
  ASSERT_TRUE(mlir::succeeded(function));
  EXPECT_THAT(textOf(*function),
              HasSubstr("(%arg0: f32, %arg1: f32, %arg2: i32, %arg3: i32) -> i1"));
}

TEST_F(ScalarFunctionTest, AValueFromOutsideLeavesTheModuleAsItWas) {
  auto function = build(R"(
    func.func @main(%x: tensor<8xf32>, %i: tensor<f32>) -> tensor<f32> {
      %r = stablehlo.reduce(%x init: %i) across dimensions = [0]
          : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
          reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %m = stablehlo.add %a, %i : tensor<f32>
        stablehlo.return %m : tensor<f32>
      }
      return %r : tensor<f32>
    })");
  EXPECT_TRUE(mlir::failed(function));
  EXPECT_EQ(module->lookupSymbol("body"), nullptr);
}

} // namespace tilewright::elements
