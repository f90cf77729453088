// The code that mlir-tblgen writes for the ops, in a unit of its own, so that editing the dialect
// or a verifier does not recompile it.
#include "tilewright/dialect/sm/SmDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tilewright::sm;

#define GET_OP_CLASSES
#include "tilewright/dialect/sm/SmOps.cpp.inc"

void SmDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/sm/SmOps.cpp.inc"
      >();
}
