#include "tilewright/transform/simplify/expand/ScatterBody.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright::simplify {

std::optional<ScatterBody> ScatterBody::of(Region &body, size_t operands) {
  Block &block = body.front();
  // The values that depend on an element of an operand.
  llvm::DenseSet<Value> old(block.args_begin(), block.args_begin() + operands);
  for (Operation &op : block.without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return old.contains(operand); }))
      old.insert(op.result_begin(), op.result_end());

  ScatterBody result;
  result.body = &body;
  for (auto [element, value] : llvm::zip_equal(block.getArguments().take_front(operands),
                                               block.getTerminator()->getOperands())) {
    if (!old.contains(value)) {
      result.parts.push_back({std::nullopt, value});
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumOperands() != 2)
      return std::nullopt;
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    if (isa<stablehlo::SubtractOp>(op) && lhs == element && !old.contains(rhs)) {
      const OperationName add(stablehlo::AddOp::getOperationName(), op->getContext());
      result.parts.push_back({add, rhs, /*isNegated=*/true});
      continue;
    }
    if (!isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
             stablehlo::AndOp, stablehlo::OrOp, stablehlo::XorOp>(op))
      return std::nullopt;
    if (rhs == element)
      std::swap(lhs, rhs);
    if (lhs != element || old.contains(rhs))
      return std::nullopt;
    result.parts.push_back({op->getName(), rhs});
  }
  return result;
}

SmallVector<Value> ScatterBody::numbersFrom(TensorBuilder &b, ValueRange updates) const {
  const size_t count = parts.size();
  auto isUpdate = [&](size_t i) { return parts[i].number == body->getArgument(count + i); };
  SmallVector<Value> numbers(updates);
  if (!llvm::all_of(llvm::seq(count), isUpdate)) {
    // Clone the body such that it returns the numbers that it computes from the updates. These do
    // not depend on the elements of the table, so any tensor of the same type can stand for the
    // table.
    Region region;
    IRMapping mapping;
    body->cloneInto(&region, mapping);
    for (auto [i, part] : llvm::enumerate(parts))
      region.front().getTerminator()->setOperand(i, mapping.lookupOrDefault(part.number));
    SmallVector<Value> arguments(updates);
    llvm::append_range(arguments, updates);
    numbers = b.apply(region, arguments);
  }
  for (auto [part, number] : llvm::zip_equal(parts, numbers))
    if (part.isNegated)
      number = b.negate(number);
  return numbers;
}

SmallVector<Value> ScatterBody::join(TensorBuilder &b, ValueRange earlier, ValueRange later) const {
  SmallVector<Value> results;
  for (auto [part, first, second] : llvm::zip_equal(parts, earlier, later)) {
    if (!part.op) {
      results.push_back(second);
      continue;
    }
    OperationState state(b.location, *part.op);
    state.addOperands({first, second});
    state.addTypes(first.getType());
    results.push_back(b.builder.create(state)->getResult(0));
  }
  return results;
}

bool ScatterBody::replacesAll() const {
  return llvm::all_of(parts, [](const Part &part) { return !part.op; });
}

bool ScatterBody::replacesSome() const {
  return llvm::any_of(parts, [](const Part &part) { return !part.op; });
}

} // namespace tilewright::simplify
