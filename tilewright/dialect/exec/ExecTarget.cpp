// #exec.target: its verifier, and the only code that reads and writes it on a module.
#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::exec {

TargetAttr targetOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  if (auto target =
          module ? module->getAttrOfType<TargetAttr>(ExecDialect::targetAttr) : TargetAttr())
    return target;
  op->getContext()->loadDialect<ExecDialect>(); // for callers that are not passes
  return TargetAttr::get(op->getContext());
}

void setTarget(ModuleOp module, TargetAttr target) {
  module->setAttr(ExecDialect::targetAttr, target);
}

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != targetAttr)
    return success();
  if (!isa<ModuleOp>(op))
    return op->emitError("attribute 'exec.target' is valid only on a module");
  if (!isa<TargetAttr>(attribute.getValue()))
    return op->emitError("attribute 'exec.target' must be an #exec.target, got ")
           << attribute.getValue();
  return success();
}

bool MatrixAttr::takes(Type type) const {
  return getTypes() && llvm::is_contained(getTypes().getAsValueRange<TypeAttr>(), type);
}

LogicalResult MatrixAttr::verify(function_ref<InFlightDiagnostic()> emitError, MatrixUnit,
                                 ArrayAttr types, bool, int64_t) {
  if (types)
    for (Attribute type : types)
      if (!isa<TypeAttr>(type))
        return emitError() << "types must be a list of element types such as [f16, tf32], got "
                           << type;
  return success();
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr,
                                 int64_t units, int64_t, int64_t tileElements, CpuAttr cpu,
                                 GpuAttr gpu, MatrixAttr, RatesAttr) {
  if (cpu && gpu)
    return emitError() << "target must describe either a CPU or a GPU, got both";
  if (units < 1)
    return emitError() << "units must be at least 1, got " << units;
  if (tileElements < 0)
    return emitError() << "tile_elements must not be negative, got " << tileElements;
  return success();
}

} // namespace tilewright::exec
