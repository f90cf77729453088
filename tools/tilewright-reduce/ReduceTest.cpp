// A program shrinks to what a test looks for, and stays a valid program.
#include "tools/tilewright-reduce/Reduce.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::tools;
using testing::HasSubstr;
using testing::Not;

namespace {

class Reduce : public testing::Test {
protected:
  Reduce() { context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect>(); }

  /// The reduced program if the interesting property is an op of this name.
  Subject reduced(llvm::StringRef text, llvm::StringRef op) {
    Subject subject{mlir::parseSourceString<mlir::ModuleOp>(text, &context), {}};
    EXPECT_TRUE(subject.program);
    for (mlir::Type type :
         subject.module().lookupSymbol<mlir::func::FuncOp>("main").getArgumentTypes())
      subject.inputs.push_back(usualInput(mlir::cast<mlir::RankedTensorType>(type)));
    ReduceSettings settings;
    settings.isInteresting = [&](const Subject &candidate) {
      // The test relies on inputs that match the program's signature, as the compiler does.
      auto main = candidate.module().lookupSymbol<mlir::func::FuncOp>("main");
      EXPECT_EQ(main.getNumArguments(), candidate.inputs.size());
      bool found = false;
      candidate.module().walk(
          [&](mlir::Operation *inner) { found |= inner->getName().getStringRef() == op; });
      return found;
    };
    return tools::reduce(std::move(subject), settings);
  }
  static std::string textOf(const Subject &subject) {
    std::string text;
    llvm::raw_string_ostream(text) << subject.module();
    return text;
  }

  mlir::MLIRContext context;
};

TEST_F(Reduce, WhatTheFaultDoesNotNeedGoes) {
  Subject left = reduced(R"(
    func.func @main(%x: tensor<8x16xf32> {jax.buffer_donor = true}, %y: tensor<16x4xf32>, %z: tensor<4xi32>)
        -> (tensor<8x4xf32>, tensor<4xi32>, tensor<8x16xf32>) {
      %0 = stablehlo.exponential %x : tensor<8x16xf32>
      %1 = stablehlo.negate %0 : tensor<8x16xf32>
      %2 = stablehlo.dot_general %1, %y, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
      %3 = stablehlo.tanh %2 : tensor<8x4xf32>
      %4 = stablehlo.add %3, %3 : tensor<8x4xf32>
      %5 = stablehlo.popcnt %z : tensor<4xi32>
      return %4, %5, %1 : tensor<8x4xf32>, tensor<4xi32>, tensor<8x16xf32>
    })",
                         "stablehlo.tanh");
  // The function's body is inlined and works on a constant of one element.
  EXPECT_EQ(left.ops(), 2) << textOf(left);
  EXPECT_EQ(left.elements(), 2) << textOf(left);
  EXPECT_TRUE(left.inputs.empty());
  EXPECT_THAT(textOf(left), Not(HasSubstr("jax.buffer_donor")));
}

TEST_F(Reduce, RegionsAndFunctionsAreOpened) {
  Subject left = reduced(R"(
    func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
      %0 = "stablehlo.if"(%p) ({
        %1 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %1 : tensor<4xf32>
      }, {
        stablehlo.return %x : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.cosine %x : tensor<4xf32>
      %1 = stablehlo.sine %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    })",
                         "stablehlo.sine");
  EXPECT_EQ(left.ops(), 2) << textOf(left);
  EXPECT_THAT(textOf(left), Not(HasSubstr("@f")));
}

TEST_F(Reduce, AResultThatGoesTakesItsDonationAlong) {
  Subject left = reduced(R"(
    func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.negate %x : tensor<4xf32>
      %1 = stablehlo.sine %0 : tensor<4xf32>
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    })",
                         "stablehlo.sine");
  EXPECT_THAT(textOf(left), Not(HasSubstr("tf.aliasing_output = 1")));
}

} // namespace
