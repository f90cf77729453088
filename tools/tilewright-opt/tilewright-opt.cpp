// tilewright-opt: reads IR, verifies it, runs passes and prints it. For tests and for debugging
// single passes.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/target/AllTargets.h"
#include "tilewright/transform/distribute/Passes.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/schedule/Passes.h"
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/solve/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

#include <optional>

int main(int argc, char **argv) {
  const llvm::cl::opt<std::string> logPasses(
      "compile.log-passes",
      llvm::cl::desc("Print the decisions of passes to standard error, as the option of "
                     "`tilewright compile` does: phases or passes, separated by commas, or all"),
      llvm::cl::value_desc("names"));

  mlir::registerTransformsPasses();
  tilewright::distribute::registerTilewrightDistributePasses();
  tilewright::simplify::registerSimplifyPasses();
  tilewright::fuse::registerFusePasses();
  tilewright::tile::registerTilewrightTilePasses();
  tilewright::solve::registerTilewrightTileSolvePasses();
  tilewright::target::registerAllTargetPasses();
  tilewright::schedule::registerTilewrightSchedulePasses();

  mlir::DialectRegistry registry;
  registry
      .insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::complex::ComplexDialect,
              mlir::func::FuncDialect, mlir::math::MathDialect, mlir::quant::QuantDialect,
              mlir::scf::SCFDialect, mlir::tensor::TensorDialect, tilewright::exec::ExecDialect,
              tilewright::sdy::SdyDialect, tilewright::sm::SmDialect,
              tilewright::stablehlo::StablehloDialect, tilewright::tile::TileDialect>();
  const auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "tilewright-opt: checks IR and runs passes on it\n", registry);
  std::optional<tilewright::interpret::PassLog> log;
  if (!logPasses.empty())
    log.emplace(/*context=*/nullptr, logPasses, llvm::errs());
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
