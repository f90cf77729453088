// Kernels through the solver: what random fusions become, what the checker refuses, and how time
// grows.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/TestPrograms.h"
#include "tilewright/transform/tile/solve/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>
#include <map>

using namespace tilewright;
using namespace tilewright::solve;
using testing::HasSubstr;

namespace {

class Solve : public testing::Test {
protected:
  Solve() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                        mlir::complex::ComplexDialect, mlir::func::FuncDialect,
                        mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                        exec::ExecDialect, sdy::SdyDialect, sm::SmDialect,
                        stablehlo::StablehloDialect, tile::TileDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  mlir::MLIRContext context;
};

/// A target of a GPU; small tiles and many turns, or large tiles, by the seed.
std::string target(uint64_t seed) {
  return concat("exec.target = {kind = \"gpu\", processors = ", 1 + seed % 7,
                " : i64, tile_elements = ", 64 << seed % 7,
                " : i64, warp_size = 32 : i64, shared_bytes = 166912 : i64, matrix = {f16 = 1 : "
                "i64, bf16 = 1 : i64, tf32 = 1 : i64, i8 = 1 : i64}}");
}

TEST_F(Solve, RandomFusionsGetLayouts) {
  std::map<std::string, int> refusals;
  int kernels = 0, converts = 0, refused = 0;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      ++refusals[diagnostic.str().substr(0, 90)];
  });
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::string text = tile::randomFusion(seed, 3 + static_cast<int>(seed % 9));
    const size_t brace = text.find("module");
    if (brace == std::string::npos)
      text = concat("module attributes {", target(seed), "} {\n", text, "\n}");
    auto module = parse(text);
    ASSERT_TRUE(module) << text;
    if (brace != std::string::npos) {
      auto attributes = parse(concat("module attributes {", target(seed), "} {}"));
      (*module)->setAttrs((*attributes)->getAttrs());
    }
    mlir::PassManager tiles(&context);
    tiles.addPass(tile::createTileFusionsPass());
    ASSERT_TRUE(mlir::succeeded(tiles.run(*module)));
    std::string before;
    llvm::raw_string_ostream(before) << *module;
    for (tile::KernelOp kernel : llvm::make_early_inc_range(module->getOps<tile::KernelOp>())) {
      SolveReport report;
      std::optional<Certificate> certificate = solveLayouts(kernel, seed % 3 == 0 ? 8 : 0, report);
      ++kernels;
      if (!certificate) {
        ++refused;
        kernel.erase();
      }
    }
    mlir::PassManager solve(&context);
    solve.addPass(createSolveLayoutsPass());
    ASSERT_TRUE(mlir::succeeded(solve.run(*module))) << before;
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module))) << before;
    EXPECT_EQ(llvm::range_size(module->getOps<tile::KernelOp>()), 0U);
    module->walk([&](sm::ConvertOp) { ++converts; });
  }
  std::cout << kernels << " kernels, " << refused << " refused, " << converts << " conversions\n";
  for (const auto &[message, count] : refusals) {
    EXPECT_THAT(message, testing::AnyOf(HasSubstr("no sums of digits"), HasSubstr("has no layout")))
        << "a refusal that is no known limit";
    std::cout << "  " << count << " times: " << message << "\n";
  }
  EXPECT_GT(kernels, 250);
  EXPECT_LT(refused, kernels / 20);
}

} // namespace
