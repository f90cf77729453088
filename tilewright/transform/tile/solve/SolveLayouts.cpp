// The pass: equations, search, certificate, check, then change.
#include "tilewright/dialect/exec/ExecDialect.h"
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

static DictionaryAttr targetOf(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<DictionaryAttr>(exec::ExecDialect::targetAttr)
                : DictionaryAttr();
}

/// Warps enough that a thread holds at most 64 elements of the largest tile, 4 or 8.
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
  DictionaryAttr target = targetOf(kernel);
  auto read = [&](StringRef name, int64_t &field) {
    if (auto value = target ? target.getAs<IntegerAttr>(name) : IntegerAttr())
      field = value.getInt();
  };
  read("warp_size", machine.lanes);
  read("shared_bytes", machine.sharedBytes);
  read("sector_bytes", machine.sectorBytes);
  read("max_registers", machine.maxRegisters);
  if (auto attribute = kernel->getAttrOfType<IntegerAttr>("warps"))
    machine.warps = attribute.getInt();
  else
    machine.warps = warps != 0 ? warps : chooseWarps(kernel);
  return machine;
}

/// Whether the chip's matrix instructions take the product, by the target's list of types.
static bool takesDot(tile::DotOp dot, std::string &reason) {
  Type lhs = cast<RankedTensorType>(dot.getLhs().getType()).getElementType(),
       rhs = cast<RankedTensorType>(dot.getRhs().getType()).getElementType();
  // The formats of 8 bits may be mixed.
  const bool mixes = isa<FloatType>(lhs) && isa<FloatType>(rhs) &&
                     lhs.getIntOrFloatBitWidth() == 8 && rhs.getIntOrFloatBitWidth() == 8;
  if (lhs != rhs && !mixes) {
    reason = "no instruction multiplies elements of two such types; convert one operand before";
    return false;
  }
  DictionaryAttr target = targetOf(dot);
  auto matrix = target ? target.getAs<DictionaryAttr>("matrix") : DictionaryAttr();
  auto types = matrix ? matrix.getAs<ArrayAttr>("types") : ArrayAttr();
  for (Type type : {lhs, rhs}) {
    std::string name;
    llvm::raw_string_ostream out(name);
    if (dot.getTf32())
      out << "tf32";
    else
      out << type;
    // Without a target, what sm_80 has.
    const StringRef others[] = {"f16", "bf16", "tf32", "f64", "i8"};
    if (types ? llvm::is_contained(types.getAsValueRange<StringAttr>(), StringRef(name))
              : llvm::is_contained(others, StringRef(name)))
      continue;
    reason = "the chip's matrix instructions do not multiply " + name;
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
    kernel.emitOpError("got layouts that its checker refuses: ")
        << wrong << "; this is a defect of the solver";
    return std::nullopt;
  }
  // What else could have been is asked only where somebody listens.
  if (kernel->getContext()->getRemarkEngine())
    for (unsigned unknown = 0; unknown < report.unknowns; ++unknown)
      remark::passed(equations->opOf(unknown)->getLoc(),
                     remark::RemarkOpts::name("layout").category(DEBUG_TYPE))
          << remark::add("{0}", equations->explainChoice(unknown, problem, *solution));
  return certificate;
}

namespace {
struct SolveLayouts : solve::impl::SolveLayoutsPassBase<SolveLayouts> {
  using SolveLayoutsPassBase::SolveLayoutsPassBase;

  void runOnOperation() override {
    for (tile::KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      SolveReport report;
      std::optional<Certificate> certificate = solveLayouts(kernel, warps, report);
      if (!certificate)
        return signalPassFailure();
      numUnknowns += report.unknowns;
      numComponents += report.components;
      rewriteKernel(kernel, *certificate).walk([&](sm::ConvertOp) { ++numConverts; });
    }
  }
};
} // namespace
