// tile-verify: checks the output contract of the stage.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/support/Errors.h"
#include "tilewright/transform/tile/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::tile {
#define GEN_PASS_DEF_VERIFYTILEDPASS
#include "tilewright/transform/tile/Passes.h.inc"

static InFlightDiagnostic complain(Operation *op) {
  return op->emitError() << idOf(Error::tileResidue) << " tile: '" << op->getName() << "' ";
}

/// Checks an op in a kernel: it must be of a dialect that targets compile, and its tiles must have
/// static shapes and no layouts yet.
static WalkResult checkKernelOp(Operation *op) {
  if (!isa_and_present<TileDialect, affine::AffineDialect, arith::ArithDialect,
                       complex::ComplexDialect, math::MathDialect, scf::SCFDialect,
                       tensor::TensorDialect>(op->getDialect()))
    return complain(op)
           << "is in a kernel, but no target compiles it there; this is a compiler bug";
  for (Type type : op->getResultTypes()) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile)
      continue;
    if (!tile.hasStaticShape())
      return complain(op) << "must compute tiles of static shape, got " << tile
                          << "; this is a compiler bug";
    if (tile.getEncoding())
      return complain(op) << "must compute tiles without layouts, which a later stage chooses, got "
                          << tile << "; this is a compiler bug";
  }
  return WalkResult::advance();
}

/// Checks that the kernel has an argument for each operand and result, with as many elements: it
/// may view memory in another shape.
static WalkResult checkLaunch(exec::LaunchOp launch, const SymbolTable &symbols) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  if (!kernel)
    return complain(launch) << "launches @" << launch.getKernel()
                            << ", which is not a tile.kernel; this is a compiler bug";
  const size_t inputs = kernel.getInputs().size(), outputs = kernel.getOutputs().size();
  if (launch.getInputs().size() != inputs || launch.getResults().size() != outputs)
    return complain(launch) << "passes " << launch.getInputs().size() << " inputs and "
                            << launch.getResults().size() << " results to @" << launch.getKernel()
                            << ", which takes " << inputs << " and " << outputs
                            << "; this is a compiler bug";
  auto arguments = kernel.getBlock().getArguments().drop_front(kernel.getGrid().size());
  SmallVector<Value> values(launch.getInputs());
  llvm::append_range(values, launch.getResults());
  for (auto [value, argument] : llvm::zip_equal(values, arguments)) {
    auto whole = dyn_cast<RankedTensorType>(value.getType());
    auto memory = cast<MemRefType>(argument.getType());
    if (!whole || !whole.hasStaticShape() || whole.getNumElements() != memory.getNumElements())
      return complain(launch) << "passes " << value.getType() << " to @" << launch.getKernel()
                              << ", which takes " << memory
                              << " of another size; this is a compiler bug";
  }
  return WalkResult::advance();
}

namespace {

struct VerifyTiled : impl::VerifyTiledPassBase<VerifyTiled> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const SymbolTable symbols(getOperation());
    auto result = getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
      if (isa<exec::FusionOp>(op))
        return complain(op) << "is still in the program: each fusion must become a kernel; this is "
                               "a compiler bug";
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        return checkLaunch(launch, symbols);
      if (!isa<KernelOp>(op))
        return WalkResult::advance();
      auto inside = op->getRegion(0).walk([](Operation *inner) { return checkKernelOp(inner); });
      return inside.wasInterrupted() ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::tile
