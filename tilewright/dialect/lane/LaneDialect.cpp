#include "tilewright/dialect/lane/LaneDialect.h"

#include "mlir/IR/Builders.h"

#include "tilewright/dialect/lane/LaneDialect.cpp.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/lane/LaneOps.cpp.inc"

using namespace mlir;

namespace tilewright::lane {

void LaneDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/lane/LaneOps.cpp.inc"
      >();
}

Type registerType(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  MLIRContext *context = element.getContext();
  if (element.isIndex())
    return IntegerType::get(context, 64);
  if (element.isF64())
    return element;
  if (isa<FloatType>(element))
    return Float32Type::get(context);
  return IntegerType::get(context, element.getIntOrFloatBitWidth());
}

/// The types of the registers of one application.
static SmallVector<Type> registerTypes(TypeRange elements) {
  SmallVector<Type> types;
  for (Type element : elements)
    types.append(registersOf(element), registerType(element));
  return types;
}

/// Whether `types` repeats `once` a whole number of times; sets that number.
static bool isRepetition(TypeRange types, ArrayRef<Type> once, size_t &count) {
  if (once.empty())
    return types.empty();
  if (types.size() % once.size() != 0)
    return false;
  count = types.size() / once.size();
  for (auto [i, type] : llvm::enumerate(types))
    if (type != once[i % once.size()])
      return false;
  return true;
}

LogicalResult MapOp::verify() {
  Block &block = getBody().front();
  size_t applications = 0, made = 0;
  if (!isRepetition(getInputs().getTypes(), registerTypes(block.getArgumentTypes()), applications))
    return emitOpError("must have the registers of its body's arguments as operands, once for each "
                       "application, got ")
           << getInputs().getTypes() << " for arguments " << block.getArgumentTypes();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("must end its body with lane.yield");
  if (!isRepetition(getResultTypes(), registerTypes(yield.getValues().getTypes()), made))
    return emitOpError("must have one result for each register of the yielded elements, for each "
                       "application, got ")
           << getResultTypes() << " for " << yield.getValues().getTypes();
  if (!getInputs().empty() && !getResults().empty() && applications != made)
    return emitOpError("has operands of ")
           << applications << " applications, but results of " << made;
  return success();
}

} // namespace tilewright::lane
