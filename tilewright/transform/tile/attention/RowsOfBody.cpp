#include "tilewright/transform/tile/attention/RowsOfBody.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright::tile {

RowsOfBody::RowsOfBody(exec::SoftmaxDotBackwardOp op) {
  const auto key = static_cast<int64_t>(op.getSizes().size()) - 3;
  for (unsigned number = 0; number < op.getBody().getNumArguments(); ++number) {
    // Arguments behind the indices are elements of the operands with the same number.
    const bool isInput = number > ofKey;
    variesAlongKeys.push_back(
        isInput
            ? llvm::is_contained(cast<DenseI64ArrayAttr>(op.getDims()[number]).asArrayRef(), key)
            : number != ofRowDot && number != ofQuery);
  }
}

bool RowsOfBody::isOfRows(Value value) const {
  return llvm::none_of(argumentsOf(value), [&](BlockArgument argument) {
    return variesAlongKeys[argument.getArgNumber()];
  });
}

SmallVector<BlockArgument> argumentsOf(Value value) {
  SmallVector<BlockArgument> arguments;
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next))
      arguments.push_back(argument);
    else
      llvm::append_range(open, next.getDefiningOp()->getOperands());
  }
  return arguments;
}

RowsOfBody::Inputs RowsOfBody::inputsOf(ArrayRef<Value> roots) const {
  Inputs inputs;
  SmallVector<Value> open(roots);
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    auto argument = dyn_cast<BlockArgument>(next);
    if (argument && (argument.getArgNumber() == ofQuery || !isOfRows(next)))
      inputs.elements.push_back(argument);
    else if (!argument && !isOfRows(next))
      llvm::append_range(open, next.getDefiningOp()->getOperands());
    else if (argument || !argumentsOf(next).empty())
      inputs.rows.push_back(next);
  }
  return inputs;
}

} // namespace tilewright::tile
