#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/target/Collectives.h"

using namespace mlir;

namespace tilewright::cpu {

LogicalResult Lowering::lowerCollective(Operation *op) {
  ArrayAttr bodies;
  // Reductions without a name, such as one that returns its second operand, become functions.
  if (target::reductionOf(op) == numerics::ReductionKind::function) {
    FailureOr<FlatSymbolRefAttr> body = functionOf(op->getRegion(0));
    if (failed(body))
      return failure();
    bodies = Builder(op).getArrayAttr(*body);
  }
  std::string why = target::lowerCollective(op, nextCollective++, bodies);
  return why.empty() ? success() : refuse(op, why);
}

} // namespace tilewright::cpu
