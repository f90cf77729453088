#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/support/Errors.h"
#include "tilewright/target/cpu/Passes.h"
#include "tilewright/target/cpu/lower/Lowering.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright::cpu {

#define GEN_PASS_DEF_CPULOWEROPSPASS
#include "tilewright/target/cpu/Passes.h.inc"

LogicalResult refuse(Operation *op, const Twine &why) {
  return op->emitError() << idOf(Error::cpuLowerOp) << " target: '" << op->getName() << "' " << why;
}

namespace {

/// Ops that are left to the schedule stage: memory and control flow.
bool isKept(Operation *op) {
  using namespace stablehlo;
  return isa<ConstantOp, WhileOp, IfOp, CaseOp, ReturnOp, ReshapeOp, CreateTokenOp, AfterAllOp>(op);
}

/// A bitcast is a view of the same bytes, unless elements are smaller than a byte.
bool isView(Operation *op) {
  if (!isa<stablehlo::BitcastConvertOp>(op))
    return false;
  auto width = [](Value value) {
    return cast<ShapedType>(value.getType()).getElementType().isIntOrFloat()
               ? cast<ShapedType>(value.getType()).getElementTypeBitWidth()
               : 64u;
  };
  return width(op->getOperand(0)) >= 8 && width(op->getResult(0)) >= 8;
}

/// Whether object code may refer to a library symbol of this name: a kernel with the same name
/// would be called instead.
bool isReserved(StringRef name) {
  static const llvm::StringSet<> functions = {
      "acos",  "acosh", "asin",      "asinh", "atan",  "atan2",  "atanh",     "cbrt",
      "ceil",  "cos",   "cosh",      "erf",   "erfc",  "exp",    "exp2",      "expm1",
      "fabs",  "floor", "fma",       "fmax",  "fmin",  "fmod",   "log",       "log10",
      "log1p", "log2",  "nearbyint", "pow",   "rint",  "round",  "roundeven", "sin",
      "sinh",  "sqrt",  "tan",       "tanh",  "trunc", "memcpy", "memmove",   "memset"};
  return functions.contains(name) ||
         (name.ends_with("f") && functions.contains(name.drop_back())) ||
         name.starts_with("tw_scalar");
}

struct CpuLowerOps : impl::CpuLowerOpsPassBase<CpuLowerOps> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Lowering state(getOperation(), symbols);
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>()))
      if (isReserved(kernel.getSymName())) {
        std::string name = ("kernel_" + kernel.getSymName()).str();
        while (symbols.lookup(name))
          name += "_";
        if (mlir::failed(symbols.rename(kernel, name)))
          return signalPassFailure();
      }
    // Collect first, because lowering adds kernels and functions, and erases regions of lowered
    // ops.
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        collect(function.getBody(), ops);
    bool failed = false;
    for (Operation *op : ops) {
      if (interpret::mustStopAt(op))
        return signalPassFailure();
      failed |= mlir::failed(lower(state, op));
    }
    if (failed)
      signalPassFailure();
  }

  /// Collects the ops that are steps of the host's plan, including those in the bodies of control
  /// flow, but not those in combiners.
  static void collect(Region &region, SmallVectorImpl<Operation *> &ops) {
    for (Operation &op : region.getOps()) {
      if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op)) {
        for (Region &inner : op.getRegions())
          collect(inner, ops);
      } else if (isa_and_nonnull<stablehlo::StablehloDialect>(op.getDialect())) {
        ops.push_back(&op);
      }
    }
  }

  LogicalResult lower(Lowering &state, Operation *op) {
    if (isKept(op) || isView(op))
      return success();
    if (isa<stablehlo::OptimizationBarrierOp>(op)) {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
      return success();
    }
    if (stablehlo::isCollective(op))
      return state.lowerCollective(op);
    if (isa<stablehlo::CustomCallOp>(op))
      return state.lowerCustomCall(op);
    if (std::optional<LogicalResult> lowered = state.lowerToLibrary(op))
      return *lowered;
    if (elements::canExpress(op))
      return state.lowerElementwise(op);
    return refuse(op, "has no kernel in the CPU runtime's library; "
                      "transform/simplify should have expanded it");
  }
};

} // namespace

void buildLowerPipeline(OpPassManager &passes) { passes.addPass(createCpuLowerOpsPass()); }

} // namespace tilewright::cpu
