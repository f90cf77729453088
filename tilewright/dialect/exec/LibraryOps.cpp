#include "tilewright/dialect/exec/LibraryOps.h"

#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/exec/SoftmaxOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "tilewright/dialect/exec/LibraryInterface.cpp.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/LibraryOps.cpp.inc"

namespace tilewright::exec {

void ExecDialect::addLibraryOps() {
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/exec/LibraryOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/exec/ScaledOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/exec/SoftmaxOps.cpp.inc"
      >();
}

ArrayRef<int64_t> aliasesOf(Operation *op) {
  DenseI64ArrayAttr aliases = llvm::TypeSwitch<Operation *, DenseI64ArrayAttr>(op)
                                  .Case<LaunchOp, CustomCallOp, LibraryCallOpInterface>(
                                      [](auto call) { return call.getAliasesAttr(); })
                                  .Default(DenseI64ArrayAttr());
  return aliases ? aliases.asArrayRef() : ArrayRef<int64_t>();
}

bool mustAlias(Operation *op) {
  auto launch = dyn_cast<LaunchOp>(op);
  return isa<CustomCallOp>(op) || (launch && launch.getInPlace());
}

LogicalResult detail::verifyLibraryCall(LibraryCallOpInterface call) {
  const size_t bodies = call.getBodiesAttr() ? call.getBodiesAttr().size() : 0;
  if (bodies != call.getBodyCount())
    return call->emitOpError("calls ")
           << call.getBodyCount() << " functions, but 'bodies' lists " << bodies;
  DenseI64ArrayAttr aliases = call.getAliasesAttr();
  if (!aliases)
    return success();
  if (aliases.size() % 2 != 0)
    return call->emitOpError("expects pairs of a result and an operand in 'aliases', got an odd "
                             "number of entries, ")
           << aliases.size();
  for (int64_t i = 0; i < aliases.size(); i += 2) {
    const int64_t result = aliases[i], input = aliases[i + 1];
    if (result < 0 || result >= call->getNumResults() || input < 0 ||
        input >= call->getNumOperands())
      return call->emitOpError("has an alias of result ")
             << result << " and operand " << input << ", but only " << call->getNumResults()
             << " results and " << call->getNumOperands() << " operands";
  }
  return success();
}

} // namespace tilewright::exec
