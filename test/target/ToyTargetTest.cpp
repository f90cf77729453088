// A target that registers itself: the driver compiles for it, and its code computes the program.
#include "ToyTarget.h"

#include "tilewright/driver/Compile.h"
#include "tilewright/interpret/evaluate/EvaluateTile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::interpret;
using numerics::ElementType;
using numerics::Shape;
using testing::HasSubstr;

namespace {

class ToyTargetTest : public testing::Test {
protected:
  static void SetUpTestSuite() { target::registerBackend(toy::backend()); }
  ToyTargetTest() {
    mlir::DialectRegistry registry;
    driver::registerCompilerDialects(registry);
    mlir.appendDialectRegistry(registry);
    mlir.loadAllAvailableDialects();
    request.options.compile.target = "toy";
  }
  Result<artifact::Executable> compile(llvm::StringRef text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &mlir);
    EXPECT_TRUE(module);
    return driver::compile(*module, request);
  }

  mlir::MLIRContext mlir;
  driver::CompileRequest request;
};

TEST_F(ToyTargetTest, TheCodeComputesTheProgram) {
  Result<artifact::Executable> made = compile(R"(
    func.func @main(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>) -> tensor<5x3xf32> {
      %0 = stablehlo.multiply %x, %y : tensor<3x5xf32>
      %1 = stablehlo.add %0, %x : tensor<3x5xf32>
      %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
      return %2 : tensor<5x3xf32>
    })");
  ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
  EXPECT_EQ(made->target.triple, toy::triple);
  EXPECT_EQ(made->target.cpu, "toy");
  ASSERT_EQ(made->kernels.size(), 1u);
  EXPECT_EQ(made->blocks[0].steps.size(), 1u);

  // The toy's machine is the evaluator.
  ASSERT_EQ(made->objects.size(), 1u);
  const llvm::StringRef object(reinterpret_cast<const char *>(made->objects[0].data()),
                               made->objects[0].size());
  auto code = mlir::parseSourceString<mlir::ModuleOp>(object, &mlir);
  ASSERT_TRUE(code);
  auto kernel = code->lookupSymbol<tile::KernelOp>(made->kernels[0].symbol);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(made->kernels[0].grid, kernel.getPointCount());
  Context context;
  const Shape shape = *Shape::create({3, 5});
  Tensor x = *Tensor::allocate(ElementType::f32, shape, context);
  Tensor y = *Tensor::allocate(ElementType::f32, shape, context);
  for (int64_t i = 0; i < 15; ++i) {
    x.set(i, Scalar::ofReal(double(i)));
    y.set(i, Scalar::ofReal(0.5 * double(i)));
  }
  Result<std::vector<Tensor>> results = evaluateKernel(kernel, {x, y}, context);
  ASSERT_TRUE(results.isOk()) << std::move(results).takeStatus().toString();
  for (int64_t row = 0; row < 5; ++row)
    for (int64_t column = 0; column < 3; ++column) {
      const double i = double(column * 5 + row);
      EXPECT_EQ((*results)[0].at(row * 3 + column).r, i * 0.5 * i + i);
    }
}

TEST_F(ToyTargetTest, AnOpWithoutAKernelIsRefusedByName) {
  Status status = compile(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
      %0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
      %1 = stablehlo.fft %0, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
      return %1 : tensor<4xcomplex<f32>>
    })")
                      .takeStatus();
  EXPECT_THAT(status.toString(), HasSubstr("stablehlo.fft"));
}

TEST_F(ToyTargetTest, StandsBesideTheOtherTargets) {
  request.options.compile.target = "";
  EXPECT_TRUE(compile("func.func @main() { return }").isOk());
  request.options.compile.target = "joy";
  Status status = compile("func.func @main() { return }").takeStatus();
  EXPECT_EQ(status.error(), Error::compileTarget);
  EXPECT_THAT(status.message(), HasSubstr("toy"));
  EXPECT_THAT(status.message(), HasSubstr("sm_90a"));
  EXPECT_THAT(status.message(), HasSubstr("x86-64-v4"));
}

} // namespace
