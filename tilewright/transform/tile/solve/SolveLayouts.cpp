// The pass tile-solve-layouts: builds the equations, searches, checks the certificate, then
// rewrites the kernel.
#include "tilewright/dialect/exec/ExecDialect.h"
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
/// possible.
static int64_t chooseWarps(tile::KernelOp kernel) {
  int64_t largest = 0;
  kernel.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        largest = std::max(largest, type.getNumElements());
  });
  return largest > 4096 ? 8 : 4;
}

static Machine machineOf(tile::KernelOp kernel, int64_t warps) {
  Machine machine;
  if (exec::GpuAttr gpu = exec::targetOf(kernel).getGpu())
    machine = {.lanes = gpu.getWarpSize(),
               .sharedBytes = gpu.getSharedBytes(),
               .sectorBytes = gpu.getSectorBytes(),
               .maxRegisters = gpu.getMaxRegisters()};
  if (auto attribute = kernel->getAttrOfType<IntegerAttr>("warps"))
    machine.warps = attribute.getInt();
  else
    machine.warps = warps != 0 ? warps : chooseWarps(kernel);
  return machine;
}

/// Whether the chip has matrix instructions for the product's element types.
static bool takesDot(tile::DotOp dot, std::string &reason) {
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
