// LoopState: adds loop-carried values to a while loop, and finds what a body computes from its
// counter.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_LOOPSTATE_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_LOOPSTATE_H

#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::communicate {

/// The bytes that moving collectives out of loops, or carrying their results, may add to the memory
/// of a program: a percentage of its parameters, results and loop-carried values, and at least
/// 16 MiB.
int64_t memoryAllowance(mlir::func::FuncOp function, int64_t percent);

/// Appends loop-carried values, which start as `inits`. Each iteration passes them on unchanged
/// until the caller changes the terminator. Returns the new loop; the old one is erased.
stablehlo::WhileOp addState(stablehlo::WhileOp loop, mlir::ValueRange inits);

/// Whether a value is computed outside of a loop.
bool isOutside(stablehlo::WhileOp loop, mlir::Value value);

/// Whether a value is a function of constants and of what loops count from constants, so that all
/// ranks have the same one in the same iteration.
bool isSameOnAllRanks(mlir::Value value);

/// A constant of zeros, also of a complex type.
mlir::Value zerosOf(mlir::OpBuilder &builder, mlir::Location location, mlir::Type type);

/// Computes a value of a loop's body for another iteration. The value must be a function of the
/// loop's counters (scalar integers that the body computes from each other) and of values from
/// outside, by at most a few cheap ops.
class IterationClone {
public:
  /// Whether `value` can be computed from counters.
  static bool isPossible(stablehlo::WhileOp loop, mlir::Value value);

  enum class Iteration { first, next };
  /// Computes the value for the first iteration (before the loop), or for the next one (in its
  /// body).
  IterationClone(stablehlo::WhileOp loop, mlir::OpBuilder &builder, Iteration iteration)
      : loop(loop), builder(builder), iteration(iteration) {}
  mlir::Value of(mlir::Value value);

private:
  mlir::Value clone(mlir::Value value, mlir::IRMapping &known);

  stablehlo::WhileOp loop;
  mlir::OpBuilder &builder;
  const Iteration iteration;
  mlir::IRMapping inThis;    // values of the body in this iteration
  mlir::IRMapping inAnother; // in the wanted one
};

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_LOOPSTATE_H
