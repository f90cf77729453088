// Tests that bounds are as wide as the terms require, and no wider.
#include "tilewright/interpret/bounds/Bounds.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/kernels/testing/Tensors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::Each;
using testing::HasSubstr;

namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

class Bounds : public testing::Test {
protected:
  Bounds() {
    context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, sdy::SdyDialect>();
  }

  /// The first result of @main.
  Bounded run(llvm::StringRef text, RuntimeValues inputs, const Allowance &allowance = {}) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto results = evaluateWithBounds(*module, "main", std::move(inputs), allowance);
    EXPECT_TRUE(results.isOk()) << std::move(results).takeStatus().toString();
    return results.isOk() ? results->front() : Bounded();
  }
  Tensor reals(std::vector<double> values, std::vector<int64_t> dims,
               ElementType type = ElementType::f32) {
    Context spending;
    Tensor tensor = *Tensor::allocate(type, *Shape::create(dims), spending);
    for (size_t i = 0; i < values.size(); ++i)
      tensor.set(static_cast<int64_t>(i), Scalar::ofReal(values[i]));
    return tensor;
  }
  Tensor row(std::vector<double> values) {
    const auto count = static_cast<int64_t>(values.size());
    return reals(std::move(values), {count});
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

constexpr const char *sum = R"(
  func.func @main(%x: tensor<3xf32>) -> tensor<f32> {
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [0]
        : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  })";

TEST_F(Bounds, ASumOfSmallWholeNumbersIsExactInAnyOrder) {
  EXPECT_EQ(run(sum, {row({1, -7, 3.5})}).bounds, std::vector<double>{0});
}

TEST_F(Bounds, ASumHasTheBoundOfItsTermsAndNotOfItsValue) {
  // 2^20 + 1/3 - 2^20: nearly everything cancels, except the error.
  const Bounded result = run(sum, {row({1048576, 1.0 / 3, -1048576})});
  EXPECT_GT(result.bounds[0], 0x1p-24 * 2097152);
  EXPECT_LT(result.bounds[0], 0x1p-24 * 2097152 * 16);
}

TEST_F(Bounds, ASmallTermThatIsMissingIsFound) {
  // The term is small compared with a tolerance of 1e-3, but not with its bound.
  const Bounded result = run(sum, {row({1.0 / 3, 1.0 / 7, 0x1p-16})});
  Compared compared;
  EXPECT_EQ(differenceFrom(result, reals({result.tensor().at(0).r}, {}), &compared), "");
  EXPECT_EQ(compared.bounded, 1);
  EXPECT_THAT(differenceFrom(result, reals({1.0 / 3 + 1.0 / 7}, {})), HasSubstr("within"));
}

TEST_F(Bounds, ArithmeticThatIsRoundedOnceIsExact) {
  const Bounded result = run(R"(
    func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.multiply %x, %y : tensor<2xf32>
      %1 = stablehlo.divide %0, %y : tensor<2xf32>
      %2 = stablehlo.sqrt %1 : tensor<2xf32>
      return %2 : tensor<2xf32>
    })",
                             {row({0.1, 3}), row({0.7, 11})});
  EXPECT_THAT(result.bounds, Each(0.0));
}

TEST_F(Bounds, OnlyBf16InstructionsOfCpusFlushSubnormalFactors) {
  auto boundFor = [&](ElementType type, const char *text, const Allowance &allowance) {
    return run(text, {reals({0x1p-130, 1}, {2}, type), reals({0x1p20, 0}, {2}, type)}, allowance)
        .bounds[0];
  };
  const char *narrow = R"(
    func.func @main(%x: tensor<2xbf16>, %y: tensor<2xbf16>) -> tensor<f32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
          : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<f32>
      return %0 : tensor<f32>
    })";
  const char *wide = R"(
    func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<f32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
          : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
      return %0 : tensor<f32>
    })";
  EXPECT_GE(boundFor(ElementType::bf16, narrow, Allowance::ours()), 0x1p-110);
  EXPECT_LT(boundFor(ElementType::bf16, narrow, Allowance::tensorCores()), 0x1p-120);
  EXPECT_LT(boundFor(ElementType::f32, wide, Allowance::ours()), 0x1p-120);
}

TEST_F(Bounds, APartOfAComplexProductMayBeZeroWithEitherSign) {
  Context spending;
  auto scalar = [&](double real, double imaginary) {
    Tensor tensor = *Tensor::allocate(ElementType::c64, *Shape::create({}), spending);
    tensor.set(0, Scalar::ofComplex({real, imaginary}));
    return tensor;
  };
  // (-1)(1 + 0i) is -1 - 0i as a product, and -1 + 0i as a sum that begins with zero.
  const Bounded result = run(R"(
    func.func @main(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>) -> tensor<complex<f32>> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [] x []
          : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
      return %0 : tensor<complex<f32>>
    })",
                             {scalar(-1, 0), scalar(1, 0)});
  EXPECT_EQ(differenceFrom(result, scalar(-1, 0.0)), "");
  EXPECT_EQ(differenceFrom(result, scalar(-1, -0.0)), "");
  EXPECT_THAT(differenceFrom(result, scalar(-1, 1e-30)), HasSubstr("within"));
}

TEST_F(Bounds, WhoContractsMayRoundAProductOnce) {
  const char *text = R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.multiply %x, %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    })";
  const Bounded result = run(text, {row({0.1, 3})}, Allowance::xla());
  EXPECT_GT(result.bounds[0], 0);
  EXPECT_EQ(result.bounds[1], 0); // 9 needs no rounding
}

TEST_F(Bounds, AFunctionHasItsUlpsAndADecisionOnItIsKnownOnlyFarFromTheEdge) {
  const Bounded result = run(R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xi1> {
      %0 = stablehlo.tanh %x : tensor<2xf32>
      %1 = stablehlo.constant dense<[0.462117165, 0.25]> : tensor<2xf32>
      %2 = stablehlo.compare LT, %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
      return %2 : tensor<2xi1>
    })",
                             {row({0.5, 0.5})});
  EXPECT_EQ(result.bounds, (std::vector<double>{unknown, 0}));
}

TEST_F(Bounds, MovementTakesBoundsAlong) {
  const Bounded result = run(R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {
      %0 = stablehlo.exponential %x : tensor<2xf32>
      %1 = stablehlo.reverse %0, dims = [0] : tensor<2xf32>
      %2 = stablehlo.constant dense<7.0> : tensor<1xf32>
      %3 = stablehlo.concatenate %2, %1, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
      return %3 : tensor<3xf32>
    })",
                             {row({0, 5})});
  EXPECT_EQ(result.bounds[0], 0);
  EXPECT_GT(result.bounds[1], result.bounds[2]);
  EXPECT_GT(result.bounds[2], 0);
}

TEST_F(Bounds, ALoopWhoseEndIsInDoubtIsNotKnown) {
  const char *text = R"(
    func.func @main(%x: tensor<f32>, %end: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.while(%a = %x) : tensor<f32>
        cond {
          %1 = stablehlo.compare LT, %a, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        } do {
          %1 = stablehlo.exponential %a : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }
      return %0 : tensor<f32>
    })";
  const Bounded surely = run(text, {reals({1}, {}), reals({10}, {})});
  EXPECT_GT(surely.bounds[0], 0);
  EXPECT_LT(surely.bounds[0], 1);
  // e itself: another implementation may be slightly below.
  EXPECT_EQ(run(text, {reals({1}, {}), reals({2.7182817459106445}, {})}).bounds[0], unknown);
}

TEST_F(Bounds, AProductHasTheBoundOfItsTerms) {
  const char *text = R"(
    func.func @main(%x: tensor<1x2xf32>, %y: tensor<2x1xf32>) -> tensor<1x1xf32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
          : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32>
      return %0 : tensor<1x1xf32>
    })";
  EXPECT_EQ(run(text, {reals({3, 5}, {1, 2}), reals({0.5, -2}, {2, 1})}).bounds[0], 0);
  const double bound = run(text, {reals({0.1, 5}, {1, 2}), reals({0.7, -0.3}, {2, 1})}).bounds[0];
  EXPECT_GT(bound, 0x1p-24);
  EXPECT_LT(bound, 0x1p-24 * 1.57 * 16);
}

TEST_F(Bounds, ANanThatWasComputedMayHaveAnyBits) {
  const Bounded result = run(R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xi32> {
      %0 = stablehlo.divide %x, %x : tensor<2xf32>
      %1 = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>
      return %1 : tensor<2xi32>
    })",
                             {row({0, 3})});
  EXPECT_EQ(result.bounds, (std::vector<double>{unknown, 0}));
}

TEST_F(Bounds, ComplexProductsThatUnderflowAreNotKnown) {
  // The products of parts are rounded to multiples of the smallest number, or once after their sum.
  const Bounded result = run(R"(
    func.func @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xcomplex<f64>> {
      %0 = stablehlo.complex %x, %x : tensor<3xcomplex<f64>>
      %1 = stablehlo.complex %y, %y : tensor<3xcomplex<f64>>
      %2 = stablehlo.multiply %0, %1 : tensor<3xcomplex<f64>>
      return %2 : tensor<3xcomplex<f64>>
    })",
                             {reals({1.5e-323, 2, 0}, {3}, ElementType::f64),
                              reals({1.875, 3, 5}, {3}, ElementType::f64)});
  EXPECT_EQ(result.bounds[0], unknown);
  EXPECT_LT(result.bounds[1], 1e-12);
  EXPECT_EQ(result.bounds[2], 0);
}

TEST_F(Bounds, TheFactorsOfAMatrixHaveTheBoundsOfTheirAnalysis) {
  const Bounded result = run(R"(
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = stablehlo.cholesky %x, lower = true : tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    })",
                             {reals({4, 2, 2, 10}, {2, 2})});
  EXPECT_EQ(result.bounds[1], 0); // the other half is zero
  EXPECT_GT(result.bounds[3], 0);
  EXPECT_LT(result.bounds[3], 1e-4);
}

} // namespace
