// TensorBuilder: short names for the StableHLO ops that expansions consist of.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TENSORBUILDER_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TENSORBUILDER_H

#include "tilewright/dialect/stablehlo/ShapedBuilder.h"
#include "tilewright/transform/simplify/Constants.h"

namespace tilewright::simplify {

/// Extends ShapedBuilder by ops that only expansions use.
class TensorBuilder : public stablehlo::ShapedBuilder {
public:
  using ShapedBuilder::compare;
  using ShapedBuilder::ShapedBuilder;

  // Constants.
  Value number(mlir::RankedTensorType type, double number) {
    return makeNumber(builder, location, type, number);
  }
  /// An integer constant from the low bits of `bits`.
  Value integer(mlir::RankedTensorType type, uint64_t bits);

  // Elementwise ops.
  /// The quotient. Complex numbers are divided by arithmetic on their parts: kernels on GPUs have
  /// no division of complex numbers with f64 parts.
  Value divide(Value lhs, Value rhs);
  /// Like compare(), with a constant on the right.
  Value compare(Value lhs, stablehlo::ComparisonDirection direction, int64_t rhs);
  Value bitcast(Value value, mlir::Type element);
  Value real(Value value);
  Value imaginary(Value value);
  Value complex(Value real, Value imaginary);
  Value negate(Value value);
  /// The complex conjugate. Returns a real tensor unchanged.
  Value conjugate(Value value);

  // Data movement.
  Value transpose(Value value, llvm::ArrayRef<int64_t> permutation);
  Value reverse(Value value, int64_t dim);
  /// Gathers rows of a table: the result has the dimensions of the indices, then those of a row.
  Value gatherRows(Value table, Value indices);

  /// The product over the last dimension of `lhs` and the first of `rhs`, at the precision of the
  /// element type.
  Value dot(Value lhs, Value rhs);
  /// Like dot(), for each index of the first dimension.
  Value batchedDot(Value lhs, Value rhs);
  /// The sum over a dimension.
  Value sumOver(Value value, int64_t dim);

  /// Applies a region over scalars to tensors of one shape, element by element. The region must
  /// satisfy whyNotElementwise().
  llvm::SmallVector<Value> apply(mlir::Region &body, mlir::ValueRange arguments);

  /// Computes values from scalars, in the body of an op.
  using Body = llvm::function_ref<llvm::SmallVector<Value>(mlir::ValueRange)>;
  /// Reduces along `dims`. The body takes the accumulators, then an element of each value.
  llvm::SmallVector<Value> reduce(mlir::ValueRange values, mlir::ValueRange inits,
                                  llvm::ArrayRef<int64_t> dims, Body body);
  /// Sorts along `dim`; equal elements keep their order. The body takes two elements of each value
  /// and returns whether the first elements come before the second.
  llvm::SmallVector<Value> sort(mlir::ValueRange values, int64_t dim, Body body);

  /// A loop that computes the next state from the number of the iteration, an i32, and the state.
  using Iteration =
      llvm::function_ref<llvm::SmallVector<Value>(Value number, mlir::ValueRange state)>;
  llvm::SmallVector<Value> loop(int64_t count, mlir::ValueRange state, Iteration iteration);
  /// The same, with a number of iterations that is computed: an i32 scalar.
  llvm::SmallVector<Value> loop(Value count, mlir::ValueRange state, Iteration iteration);
  /// Like loop(), where the loop ends earlier if the first value of the state, an i1, is false.
  llvm::SmallVector<Value> loopWhile(int64_t maxCount, mlir::ValueRange state, Iteration iteration);

private:
  /// Continues while `hasMore` holds for the number of the iteration and the state.
  llvm::SmallVector<Value>
  loop(llvm::function_ref<Value(Value number, mlir::ValueRange state)> hasMore,
       mlir::ValueRange state, Iteration iteration);
};

/// Why a region over scalars cannot be applied to tensors; empty if it can.
std::string whyNotElementwise(mlir::Region &body);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TENSORBUILDER_H
