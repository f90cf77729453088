// ScalarFunction: the body of a reduce, sort, scatter, … as a small program.
#ifndef TILEWRIGHT_INTERPRET_SCALARFUNCTION_H
#define TILEWRIGHT_INTERPRET_SCALARFUNCTION_H

#include "tilewright/interpret/ScalarOperations.h"
#include "tilewright/support/Status.h"
#include "tilewright/support/WorkLimit.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tilewright::interpret {

/// A function from scalars to scalars. Bodies that consist of scalar operations
/// become a register program, because they run once per element; any other body
/// is a callback into the evaluator.
///
///   ScalarFunction sum = ScalarFunction::single(ScalarOp::add, ElementType::f32);
///   ScalarCall call(sum);                       // once per kernel
///   TILEWRIGHT_TRY(call(arguments, results));   // once per element
class ScalarFunction {
public:
  /// A value of the program: the arguments come first, then constants and instruction results in
  /// the order in which they were added.
  using Register = uint16_t;
  using Callback = std::function<Status(const Scalar *arguments, Scalar *results)>;

  class Builder;

  /// A body that cannot be a register program, as a callback.
  ScalarFunction(std::vector<ElementType> argumentTypes, std::vector<ElementType> resultTypes,
                 Callback callback)
      : arguments(std::move(argumentTypes)), results(std::move(resultTypes)),
        callback(std::move(callback)) {}

  /// `op` on two arguments of type `type`, for which it must be defined.
  static ScalarFunction single(ScalarOp op, ElementType type);

  std::span<const ElementType> argumentTypes() const { return arguments; }
  std::span<const ElementType> resultTypes() const { return results; }

  /// The operation, if the body is `op(argument 0, argument 1)` on a single type; the arguments may
  /// be swapped if op is commutative.
  std::optional<ScalarOp> singleBinaryOp() const;
  /// The argument that the body returns as its only result, as in a scatter whose body is `return
  /// %update`.
  std::optional<int64_t> returnedArgument() const;

  /// Scalar operations per call, for Context::countSteps.
  int64_t stepsPerCall() const { return static_cast<int64_t>(instructions.size()) + 1; }

private:
  friend class ScalarCall;
  ScalarFunction() = default;

  struct Instruction {
    Operation function;
    Register result, a, b, c;
    ScalarOp op;
    ElementType operand;
  };

  std::vector<ElementType> arguments, results;
  std::vector<std::pair<Register, Scalar>> constants;
  std::vector<Instruction> instructions;
  std::vector<Register> resultRegisters;
  size_t registerCount = 0;
  Callback callback;
};

/// Builds a register program.
///
///   ScalarFunction::Builder builder({f32, f32});
///   auto sum = builder.append(ScalarOp::add, f32, {0, 1});
///   builder.addResult(*sum, f32);
///   ScalarFunction function = std::move(builder).finish();
class ScalarFunction::Builder {
public:
  explicit Builder(std::vector<ElementType> argumentTypes);

  /// nullopt if there are too many registers.
  std::optional<Register> constant(const Scalar &value);
  /// Appends an instruction and returns its result; nullopt if `op` is not defined for these types
  /// or there are too many registers.
  std::optional<Register> append(ScalarOp op, ElementType operand, ElementType result,
                                 std::span<const Register> operands);
  std::optional<Register> append(ScalarOp op, ElementType operand,
                                 std::initializer_list<Register> operands) {
    return append(op, operand, resultTypeOf(op, operand),
                  std::span(operands.begin(), operands.size()));
  }
  /// Appends a call of a unary function that is not a ScalarOp.
  std::optional<Register> append(Operation operation, ElementType operand, Register argument);
  /// Appends a result to the function's results.
  void addResult(Register value, ElementType type);
  ScalarFunction finish() && { return std::move(function); }

private:
  std::optional<Register> nextRegister();
  ScalarFunction function;
};

/// Calls a ScalarFunction. Holds its registers, so each thread needs its own. The function must
/// outlive the ScalarCall.
class ScalarCall {
public:
  explicit ScalarCall(const ScalarFunction &function);

  /// Evaluates the function. A register program fails only if the compilation's work limit is
  /// reached; a callback can also fail for other reasons. `results` may overlap `arguments`.
  Status operator()(const Scalar *arguments, Scalar *results) {
    if (++calls % callsBetweenLooks == 0 && WorkLimit::mustStop())
      return Status(Code::cancelled, "the work limit is reached");
    if (function.callback)
      return function.callback(arguments, results);
    run(arguments, results);
    return Status();
  }

private:
  void run(const Scalar *arguments, Scalar *results);

  /// Calls between checks of the work limit: one check every few microseconds.
  static constexpr uint32_t callsBetweenLooks = 256;

  const ScalarFunction &function;
  std::vector<Scalar> registers;
  uint32_t calls = 0;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_SCALARFUNCTION_H
