#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "tilewright/dialect/exec/ExecDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/exec/ExecAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/ExecOps.cpp.inc"

namespace tilewright::exec {

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilewright/dialect/exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/exec/ExecOps.cpp.inc"
      >();
}

StringRef targetWord(ModuleOp module, StringRef key) {
  auto target = module->getAttrOfType<DictionaryAttr>(ExecDialect::targetAttr);
  auto word = target ? target.getAs<StringAttr>(key) : StringAttr();
  return word ? word.getValue() : StringRef();
}

LogicalResult FusionOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("needs one block argument for each input, of its type, got ")
           << block.getArgumentTypes() << " for " << getInputs().getTypes();
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().getTypes() != getResults().getTypes())
    return emitOpError("yields ") << yield.getValues().getTypes() << ", its results are "
                                  << getResults().getTypes();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *kernel = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("launches '") << getKernel() << "', which is not in the module";
  return success();
}

} // namespace tilewright::exec
