// What compile() makes of a program, and what it says when it cannot.
#include "tilewright/driver/Compile.h"
#include "tilewright/driver/Emit.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::driver;
using testing::HasSubstr;

namespace {

class Driver : public testing::Test {
protected:
  Driver() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module;
  }
  Result<artifact::Executable> compileText(llvm::StringRef text) {
    auto module = parse(text);
    return compile(*module, request);
  }
  /// What emitting a module says that was scheduled by hand.
  Status emitFailure(llvm::StringRef text) {
    auto module = parse(text);
    llvm::StringMap<KernelFacts> none;
    return emitExecutable(*module, none).takeStatus();
  }

  mlir::MLIRContext context;
  CompileRequest request;
};

TEST_F(Driver, AnExecutableHasTheSignatureOfTheProgram) {
  CompileReport report;
  request.report = &report;
  Result<artifact::Executable> made = compileText(R"(
    func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %y : tensor<4xf32>
      %1 = stablehlo.exponential %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    })");
  ASSERT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
  EXPECT_EQ(made->parameters.size(), 2u);
  EXPECT_EQ(made->parameters[0].donation, artifact::Donation::may);
  EXPECT_EQ(made->results[0].aliasOf, 0u);
  EXPECT_EQ(made->kernels.size(), 1u);
  EXPECT_EQ(made->blocks[0].steps.size(), 1u);
  EXPECT_EQ(report.stages.back().name, "code");
}

TEST_F(Driver, AnUnknownChipIsAnsweredWithTheKnownOnes) {
  request.options.compile.target = "x86-64-v9";
  Status status = compileText("func.func @main() { return }").takeStatus();
  EXPECT_EQ(status.error(), Error::compileTarget);
  EXPECT_THAT(status.message(), HasSubstr("x86-64-v4"));
}

TEST_F(Driver, AStageThatFailsIsNamedWithTheOpAndAReplay) {
  Status status = compileText(R"(
    func.func @main(%t: !stablehlo.token) -> tensor<2xf32> {
      %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
      return %0#0 : tensor<2xf32>
    })")
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::compileStage);
  EXPECT_THAT(status.message(), HasSubstr("stablehlo.infeed"));
  EXPECT_THAT(status.message(), HasSubstr("replay"));
}

TEST_F(Driver, AModuleWithoutMainIsRefused) {
  EXPECT_EQ(emitFailure("module {}").error(), Error::planSignature);
}

TEST_F(Driver, AnOpWithoutAStepIsNamed) {
  Status status = emitFailure(R"(
    func.func @main(%x: tensor<2xf32>) attributes {
        exec.allocations = [#exec.allocation<storage = "parameter", index = 0, bytes = 8, space = 0>,
                            #exec.allocation<storage = "temporary", index = 0, bytes = 64, space = 0>],
        exec.argument_slices = [[#exec.slice<allocation = 0, offset = 0, bytes = 8>]]} {
      %0 = stablehlo.negate %x {exec.slices = [#exec.slice<allocation = 1, offset = 0, bytes = 8>]} : tensor<2xf32>
      return
    })");
  EXPECT_EQ(status.error(), Error::planOp);
  EXPECT_THAT(status.message(), HasSubstr("stablehlo.negate"));
}

TEST_F(Driver, AConfigurationThatNoHandlerCanReadIsNamed) {
  Status status = emitFailure(R"(
    func.func @main() attributes {exec.allocations = []} {
      exec.custom_call "f"() {api_version = 4 : i32, config = {handler = @f}} : () -> ()
      return
    })");
  EXPECT_EQ(status.error(), Error::planAttribute);
  EXPECT_THAT(status.message(), HasSubstr("handler"));
}

} // namespace
