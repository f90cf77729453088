// The pass tile-solve-layouts: builds the equations, searches, checks the certificate, then
// rewrites the kernel.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/transform/tile/solve/Equations.h"
#include "tilewright/transform/tile/solve/Passes.h"
#include "tilewright/transform/tile/solve/Rewrite.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tile-solve-layouts"

namespace tilewright::solve {
#define GEN_PASS_DEF_SOLVELAYOUTSPASS
#include "tilewright/transform/tile/solve/Passes.h.inc"
} // namespace tilewright::solve

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;

/// Chooses 4 or 8 warps, so that a thread holds at most 64 elements of the largest tile if
/// possible. A product with block scales has 4: of its largest tile, 128 x 128, a wave then
/// computes 64 x 64 and loads each operand once for four instructions.
static int64_t chooseWarps(tile::KernelOp kernel) {
  int64_t largest = 0;
  bool isScaled = false;
  kernel.walk([&](Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op))
      isScaled |= dot.getLhsScale() != nullptr;
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        largest = std::max(largest, type.getNumElements());
  });
  return largest > 4096 && !isScaled ? 8 : 4;
}

static Machine machineOf(tile::KernelOp kernel, int64_t warps) {
  Machine machine;
  if (exec::GpuAttr gpu = exec::targetOf(kernel).getGpu())
    machine = {.lanes = gpu.getWarpSize(),
               .sharedBytes = gpu.getSharedBytes(),
               .sectorBytes = gpu.getSectorBytes(),
               .maxRegisters = gpu.getMaxRegisters()};
  machine.hasRowsInWarps = kernel->hasAttr("rows_in_warps");
  // CDNA 3 white paper: a compute unit's L1 delivers a line of 128 bytes every two cycles.
  if (machine.lanes == 64)
    machine.cachedBytes = 64;
  if (auto attribute = kernel->getAttrOfType<IntegerAttr>("warps"))
    machine.warps = attribute.getInt();
  else
    machine.warps = warps != 0 ? warps : chooseWarps(kernel);
  return machine;
}

/// Whether MFMA multiplies a product's elements with its scales. Chips with warps of 32 lanes do so
/// in pipelines only.
static bool takesScales(tile::DotOp dot, std::string &reason) {
  const exec::TargetAttr target = exec::targetOf(dot);
  const bool isNative = target.getGpu() && target.getGpu().getWarpSize() == 64 &&
                        target.getRates() && target.getRates().getF4() > 0;
  if (!isNative || !dot.getBlock() || !isa<Float8E8M0FNUType>(*dot.getScaleType()) ||
      !exec::scaledKindOf(*dot.getLhsType(), *dot.getRhsType(), *dot.getScaleType(),
                          static_cast<int64_t>(*dot.getBlock()))) {
    reason = "no instruction of this chip multiplies these types with block scales in registers";
    return false;
  }
  // One group of 128 rows or a half, a quarter … of it, and operands of bytes in lines of 128.
  auto typeOf = [](Value tile) { return cast<RankedTensorType>(tile.getType()); };
  auto isSize = [](int64_t rows) { return llvm::is_contained({16, 32, 64, 128}, rows); };
  auto isOrdered = [&](Value scales) {
    ArrayRef<int64_t> shape = typeOf(scales).getShape();
    return shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] % 4 == 0 &&
           shape[3] == 128 && typeOf(scales).getElementTypeBitWidth() == 8;
  };
  RankedTensorType lhs = typeOf(dot.getLhs()), rhs = typeOf(dot.getRhs()),
                   sums = typeOf(dot.getResult());
  const bool fits = sums.getRank() == 2 && llvm::all_of(sums.getShape(), isSize) &&
                    sums.getElementType().isF32() && lhs.getShape().back() == 128 &&
                    lhs.getElementTypeBitWidth() == 8 && rhs.getElementTypeBitWidth() == 8 &&
                    isOrdered(dot.getLhsScale()) && isOrdered(dot.getRhsScale()) &&
                    dot.getLhsScale().getType() == dot.getRhsScale().getType();
  if (!fits) {
    reason = "MFMA multiplies lines of 128 bytes of 16, 32, 64 or 128 rows with one group of "
             "ordered scales for each side";
    return false;
  }
  return true;
}

/// Whether the chip has matrix instructions for the product's element types.
static bool takesDot(tile::DotOp dot, std::string &reason) {
  if (dot.getLhsScale())
    return takesScales(dot, reason);
  Type lhs = cast<RankedTensorType>(dot.getLhs().getType()).getElementType(),
       rhs = cast<RankedTensorType>(dot.getRhs().getType()).getElementType();
  // The two operands may have different 8-bit float types.
  const bool mixes = isa<FloatType>(lhs) && isa<FloatType>(rhs) &&
                     lhs.getIntOrFloatBitWidth() == 8 && rhs.getIntOrFloatBitWidth() == 8;
  if (lhs != rhs && !mixes) {
    reason = "no matrix instruction multiplies these two types; convert one operand first";
    return false;
  }
  const exec::MatrixAttr matrix = exec::targetOf(dot).getMatrix();
  for (Type type : {lhs, rhs}) {
    if (dot.getTf32())
      type = FloatTF32Type::get(dot.getContext());
    // If the target does not list types, assume those that every GPU supports.
    if (matrix && matrix.getTypes()
            ? matrix.takes(type)
            : isa<Float16Type, BFloat16Type, FloatTF32Type, Float64Type>(type) || type.isInteger(8))
      continue;
    llvm::raw_string_ostream(reason) << "the chip's matrix instructions do not multiply " << type;
    return false;
  }
  return true;
}

std::optional<Certificate> solve::solveLayouts(tile::KernelOp kernel, int64_t warps,
                                               SolveReport &report) {
  std::optional<Equations> equations = Equations::of(kernel, machineOf(kernel, warps), takesDot);
  if (!equations)
    return std::nullopt;
  const ChoiceProblem problem = equations->problem();
  std::optional<ChoiceSolution> solution = solveChoices(problem);
  if (interpret::mustStopAt(kernel))
    return std::nullopt;
  if (!solution) {
    const std::vector<unsigned> contradiction = smallestContradiction(problem);
    equations->opOf(contradiction.front())->emitError() << equations->explain(contradiction);
    return std::nullopt;
  }
  report.unknowns = equations->unknownCount();
  report.components = solution->components;
  report.steps = solution->steps;
  Certificate certificate = equations->certificate(*solution);
  if (std::string wrong = checkCertificate(kernel, certificate); !wrong.empty()) {
    kernel.emitOpError("has layouts that the checker rejects: ")
        << wrong << "; this is a bug in the layout solver";
    return std::nullopt;
  }
  TILEWRIGHT_LOG(DEBUG_TYPE, kernel, "'", kernel.getSymName(), "' is solved: layouts ",
                 report.unknowns, ", components ", report.components, ", search steps ",
                 report.steps);
  if (interpret::PassLog::isOn() && interpret::PassLog::isOn(DEBUG_TYPE, kernel->getContext()))
    for (unsigned unknown = 0; unknown < report.unknowns; ++unknown)
      interpret::PassLog::write(DEBUG_TYPE, kernel,
                                equations->explainChoice(unknown, problem, *solution));
  // Evaluating the alternatives takes time, so do it only if remarks are enabled.
  if (kernel->getContext()->getRemarkEngine())
    for (unsigned unknown = 0; unknown < report.unknowns; ++unknown)
      remark::passed(equations->opOf(unknown)->getLoc(),
                     remark::RemarkOpts::name("layout").category(DEBUG_TYPE))
          << remark::add("{0}", equations->explainChoice(unknown, problem, *solution))
          << remark::metric("Kernel", kernel.getSymName().str())
          << remark::metric("Tile", equations->tileOf(unknown))
          << remark::metric("Layout", equations->layoutOf(unknown, *solution));
  return certificate;
}

namespace {
struct SolveLayouts : solve::impl::SolveLayoutsPassBase<SolveLayouts> {
  using SolveLayoutsPassBase::SolveLayoutsPassBase;

  void runOnOperation() override {
    for (tile::KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (interpret::mustStopAt(kernel))
        return signalPassFailure();
      SolveReport report;
      std::optional<Certificate> certificate = solveLayouts(kernel, warps, report);
      if (!certificate)
        return signalPassFailure();
      rewriteKernel(kernel, *certificate);
    }
  }
};
} // namespace
