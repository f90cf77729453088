// OpEvaluator: one op on given operands, for whoever folds constants.
#ifndef TILEWRIGHT_INTERPRET_OPEVALUATOR_H
#define TILEWRIGHT_INTERPRET_OPEVALUATOR_H

#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace tilewright::interpret {

struct Program;
class World;

/// Evaluates single ops of a module. What they share is made once, so that
/// thousands of small ops cost little more than their arithmetic.
///
///   OpEvaluator evaluator(module);
///   Result<RuntimeValues> sum = evaluator.evaluate(add, {x, y}, limits);
///
/// Functions that an op calls are looked up when it is created; the module's
/// functions must not change afterwards.
class OpEvaluator {
public:
  explicit OpEvaluator(mlir::ModuleOp module);
  ~OpEvaluator();

  /// - interpretOp: the op is not one of the language, or its regions use values
  ///   from outside, which only a run of the whole function has.
  Result<RuntimeValues> evaluate(mlir::Operation *op, RuntimeValues operands,
                                 const InterpretOptions &limits);

private:
  std::unique_ptr<Program> program;
  std::unique_ptr<World> world;
};

/// A tensor as a constant of type `type`, a splat where all elements have the
/// same bits; null for element types that MLIR stores otherwise (tf32, quantized).
mlir::DenseElementsAttr attributeOf(const Tensor &tensor, mlir::RankedTensorType type);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_OPEVALUATOR_H
