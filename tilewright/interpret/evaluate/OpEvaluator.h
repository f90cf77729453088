// OpEvaluator: evaluates one op on given operands, for constant folding.
#ifndef TILEWRIGHT_INTERPRET_EVALUATE_OPEVALUATOR_H
#define TILEWRIGHT_INTERPRET_EVALUATE_OPEVALUATOR_H

#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace tilewright::interpret {

struct Program;
class World;

/// Evaluates single ops of a module. Creates shared state once, so that thousands of small ops cost
/// little more than their arithmetic.
///
///   OpEvaluator evaluator(module);
///   Result<RuntimeValues> sum = evaluator.evaluate(add, {x, y}, limits);
///
/// Looks up the functions that ops call at construction; the module's functions must not change
/// afterwards.
class OpEvaluator {
public:
  explicit OpEvaluator(mlir::ModuleOp module);
  ~OpEvaluator();

  /// - interpretOp: the op is not supported, or its regions capture outer values, which are known
  ///   only in a run of the whole function.
  Result<RuntimeValues> evaluate(mlir::Operation *op, RuntimeValues operands,
                                 const InterpretOptions &limits);

private:
  std::unique_ptr<Program> program;
  std::unique_ptr<World> world;
};

/// Converts a tensor to a constant of type `type`, a splat if all elements have the same bits. Null
/// for element types that MLIR stores differently (tf32, quantized).
mlir::DenseElementsAttr attributeOf(const Tensor &tensor, mlir::RankedTensorType type);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATE_OPEVALUATOR_H
