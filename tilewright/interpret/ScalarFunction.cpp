#include "tilewright/interpret/ScalarFunction.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace tilewright::interpret {

ScalarFunction ScalarFunction::single(ScalarOp op, ElementType type) {
  Builder builder({type, type});
  std::optional<Register> value = builder.append(op, type, {0, 1});
  assert(value && "the operation must be defined for the type");
  builder.addResult(*value, resultTypeOf(op, type));
  return std::move(builder).finish();
}

/// Whether swapping the operands never changes a bit of the result. Maximum and minimum qualify:
/// they order -0 before +0, and any NaN gives the same NaN.
static bool isCommutative(ScalarOp op) {
  switch (op) {
  case ScalarOp::add:
  case ScalarOp::multiply:
  case ScalarOp::maximum:
  case ScalarOp::minimum:
  case ScalarOp::bitAnd:
  case ScalarOp::bitOr:
  case ScalarOp::bitXor:
    return true;
  default:
    return false;
  }
}

std::optional<ScalarOp> ScalarFunction::singleBinaryOp() const {
  if (callback || arguments.size() != 2 || instructions.size() != 1 || resultRegisters.size() != 1)
    return std::nullopt;
  const Instruction &only = instructions.front();
  if (arityOf(only.op) != 2 || only.result != resultRegisters.front() ||
      only.operand != arguments[0] || only.operand != arguments[1])
    return std::nullopt;
  if (only.a == 0 && only.b == 1)
    return only.op;
  if (only.a == 1 && only.b == 0 && isCommutative(only.op))
    return only.op;
  return std::nullopt;
}

std::optional<int64_t> ScalarFunction::returnedArgument() const {
  if (callback || resultRegisters.size() != 1 || resultRegisters.front() >= arguments.size())
    return std::nullopt;
  return resultRegisters.front();
}

ScalarFunction::Builder::Builder(std::vector<ElementType> argumentTypes) {
  function.registerCount = argumentTypes.size();
  function.arguments = std::move(argumentTypes);
}

std::optional<ScalarFunction::Register> ScalarFunction::Builder::nextRegister() {
  if (function.registerCount > std::numeric_limits<Register>::max())
    return std::nullopt;
  return static_cast<Register>(function.registerCount++);
}

std::optional<ScalarFunction::Register> ScalarFunction::Builder::constant(const Scalar &value) {
  std::optional<Register> result = nextRegister();
  if (result)
    function.constants.emplace_back(*result, value);
  return result;
}

std::optional<ScalarFunction::Register>
ScalarFunction::Builder::append(ScalarOp op, ElementType operand, ElementType result,
                                std::span<const Register> operands) {
  assert(operands.size() == arityOf(op));
  Operation operation = operationFor(op, operand, result);
  if (!operation)
    return std::nullopt;
  std::optional<Register> target = nextRegister();
  if (!target)
    return std::nullopt;
  // Unused operand fields repeat the first operand, which always exists.
  auto operandAt = [&](size_t i) { return operands[i < operands.size() ? i : 0]; };
  function.instructions.push_back(
      {operation, *target, operandAt(0), operandAt(1), operandAt(2), op, operand});
  return target;
}

std::optional<ScalarFunction::Register>
ScalarFunction::Builder::append(Operation operation, ElementType operand, Register argument) {
  std::optional<Register> target = nextRegister();
  if (target)
    function.instructions.push_back(
        {operation, *target, argument, argument, argument, ScalarOp::abs, operand});
  return target;
}

void ScalarFunction::Builder::addResult(Register value, ElementType type) {
  function.resultRegisters.push_back(value);
  function.results.push_back(type);
}

ScalarCall::ScalarCall(const ScalarFunction &function)
    : function(function), registers(function.registerCount) {
  for (const auto &[target, value] : function.constants)
    registers[target] = value;
}

void ScalarCall::run(const Scalar *arguments, Scalar *results) {
  Scalar *const file = registers.data();
  std::copy_n(arguments, function.arguments.size(), file);
  for (const ScalarFunction::Instruction &step : function.instructions)
    file[step.result] = step.function(file[step.a], file[step.b], file[step.c]);
  for (ScalarFunction::Register source : function.resultRegisters)
    *results++ = file[source];
}

} // namespace tilewright::interpret
