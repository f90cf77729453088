// Constraints of branches, loops, tuples and the optimization barrier.
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

using namespace mlir;
using namespace tilewright::stablehlo;

/// Checks that `value` is a tensor of rank 0. `name` is its name in messages.
static LogicalResult verifyScalar(Operation *op, StringRef name, Value value) {
  if (shapeOf(value.getType()).empty())
    return success();
  return op->emitOpError() << name << " must be a scalar, got " << value.getType();
}

/// Checks that a branch has no arguments; it uses values of the enclosing region instead.
static LogicalResult verifyNoArguments(Operation *op, const Twine &name, Region &branch) {
  if (branch.getNumArguments() == 0)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << name << " must take no arguments, got " << branch.getNumArguments();
  diag.attachNote() << "a branch can use values defined outside the op";
  return diag;
}

//===----------------------------------------------------------------------===//
// if, case, while
//===----------------------------------------------------------------------===//

LogicalResult IfOp::verify() { return verifyScalar(*this, "pred", getPred()); } // if_i1

LogicalResult IfOp::verifyRegions() {
  if (failed(verifyNoArguments(*this, "true_branch", getTrueBranch())) || // if_c1
      failed(verifyNoArguments(*this, "false_branch", getFalseBranch())))
    return failure();
  TypeRange onTrue = returnedTypes(getTrueBranch()), onFalse = returnedTypes(getFalseBranch());
  if (!typesAgree(onTrue, onFalse)) // if_c2
    return emitOpError() << "branches must return the same types, got (" << onTrue << ") and ("
                         << onFalse << ")";
  if (!typesAgree(getResultTypes(), onTrue)) // if_c3
    return emitOpError() << "results must have the types that the branches return, (" << onTrue
                         << "), got (" << getResultTypes() << ")";
  return success();
}

LogicalResult CaseOp::verify() {
  if (failed(verifyScalar(*this, "index", getIndex()))) // case_i1
    return failure();
  if (getBranches().empty()) // case_c1
    return emitOpError() << "must have at least one branch, got none";
  return success();
}

LogicalResult CaseOp::verifyRegions() {
  TypeRange expected = returnedTypes(getBranches().front());
  for (auto [index, branch] : llvm::enumerate(getBranches())) {
    if (failed(verifyNoArguments(*this, "branch " + Twine(index), branch))) // case_c2
      return failure();
    if (!typesAgree(returnedTypes(branch), expected)) // case_c3
      return emitOpError() << "branches must return the same types, got (" << expected
                           << ") from branch 0 and (" << returnedTypes(branch) << ") from branch "
                           << index;
  }
  if (!typesAgree(getResultTypes(), expected)) // case_c4
    return emitOpError() << "results must have the types that the branches return, (" << expected
                         << "), got (" << getResultTypes() << ")";
  return success();
}

LogicalResult WhileOp::verify() {
  if (!typesAgree(getResultTypes(), getOperandTypes())) // while_c3
    return emitOpError() << "results must have the types of the operands, (" << getOperandTypes()
                         << "), got (" << getResultTypes() << ")";
  return success();
}

LogicalResult WhileOp::verifyRegions() {
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(verifyArguments(*this, "cond", getCond(), getOperandTypes())) || // while_c1
      failed(verifyReturned(*this, "cond", getCond(), pred)))
    return failure();
  if (failed(verifyArguments(*this, "body", getBody(), getOperandTypes())) || // while_c2
      failed(verifyReturned(*this, "body", getBody(), getOperandTypes())))
    return failure();
  return success();
}

LogicalResult OptimizationBarrierOp::verify() {
  if (!typesAgree(getResultTypes(), getOperandTypes())) // optimization_barrier_c1
    return emitOpError() << "results must have the types of the operands, (" << getOperandTypes()
                         << "), got (" << getResultTypes() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

LogicalResult TupleOp::verify() {
  TypeRange elements = cast<TupleType>(getResult().getType()).getTypes();
  if (elements != getOperandTypes()) // tuple_c1
    return emitOpError() << "result must be a tuple of the operands' types, (" << getOperandTypes()
                         << "), got (" << elements << ")";
  return success();
}

LogicalResult GetTupleElementOp::verify() {
  auto tuple = cast<TupleType>(getOperand().getType());
  int32_t index = getIndex();
  if (index < 0 || index >= static_cast<int64_t>(tuple.size())) // get_tuple_element_c1
    return emitOpError() << "index must be the index of a tuple element, in [0, " << tuple.size()
                         << "), got " << index;
  if (getResult().getType() != tuple.getType(index)) // get_tuple_element_c2
    return emitOpError() << "result must have the type of element " << index << ", "
                         << tuple.getType(index) << ", got " << getResult().getType();
  return success();
}
