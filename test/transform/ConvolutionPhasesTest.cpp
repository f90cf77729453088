// Tests that convolutions of dilated inputs keep their meaning when they are split into phases.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/tile/testing/Launches.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace tilewright;

TEST(ConvolutionPhases, KeepTheMeaningOfDilatedConvolutions) {
  mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  mlirContext.loadDialect<mlir::func::FuncDialect, sdy::SdyDialect, stablehlo::StablehloDialect,
                          exec::ExecDialect>();
  const char *count = std::getenv("TILEWRIGHT_TEST_COUNT");
  const uint64_t end = count ? std::strtoull(count, nullptr, 10) : 400;
  for (uint64_t seed = 0; seed < end; ++seed) {
    const std::string text = tile::randomDilatedConvolution(seed);
    tile::EvaluatedProgram program;
    ASSERT_EQ(program.prepare(mlirContext, text, seed, /*edges=*/false), "") << text;
    mlir::PassManager passes(&mlirContext);
    simplify::buildSimplifyPipeline(passes, {});
    ASSERT_TRUE(mlir::succeeded(passes.run(*program.module))) << text;
    std::string simplified;
    llvm::raw_string_ostream(simplified) << *program.module;
    ASSERT_EQ(simplified.find("lhs_dilate"), std::string::npos) << simplified;
    auto actual = interpret::evaluate(*program.module, "main", program.inputs, program.context);
    ASSERT_TRUE(actual.isOk()) << std::move(actual).takeStatus().message() << simplified;
    ASSERT_EQ(program.differenceFrom(*actual), "") << "seed " << seed << "\n" << text << simplified;
  }
}
