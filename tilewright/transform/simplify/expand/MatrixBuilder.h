// MatrixBuilder: operations that the linear algebra algorithms share.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_MATRIXBUILDER_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_MATRIXBUILDER_H

#include "tilewright/transform/simplify/expand/TensorBuilder.h"

namespace tilewright::simplify {

/// Builds ops on batches of matrices, [batch, rows, columns], and of vectors, [batch, elements],
/// with elements of one type. Indices and numbers of steps are i32 scalars.
class MatrixBuilder : public TensorBuilder {
public:
  MatrixBuilder(mlir::OpBuilder &builder, mlir::Location location, mlir::Type element)
      : TensorBuilder(builder, location), element(element) {}

  using Direction = stablehlo::ComparisonDirection;

  // Types and constants.
  bool isComplex() const { return llvm::isa<mlir::ComplexType>(element); }
  /// The type of absolute values.
  mlir::FloatType realType() const;
  mlir::RankedTensorType numbers(Shape shape) {
    return mlir::RankedTensorType::get(shape, builder.getI32Type());
  }
  mlir::RankedTensorType elements(Shape shape) {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::RankedTensorType reals(Shape shape) {
    return mlir::RankedTensorType::get(shape, realType());
  }
  Value zeros(Shape shape) { return number(elements(shape), 0); }
  Value index(int64_t number) { return integer(numbers({}), static_cast<uint64_t>(number)); }
  Value plusOne(Value value) { return add(value, integer(typeOf(value), 1)); }
  Value identity(Shape shape);

  // Parts of matrices and vectors.
  /// [batch, …] of a tensor whose last `kept` dimensions are not batch dimensions.
  Value flattened(Value value, size_t kept);
  Value columnAt(Value a, Value j);
  Value rowAt(Value a, Value j);
  /// Element j of each vector: [batch].
  Value elementAt(Value vector, Value j);
  /// The vectors with element j replaced.
  Value put(Value vector, Value j, Value value);
  Value diagonalOf(Value a);
  Value adjoint(Value a) { return conjugate(transpose(a, {0, 2, 1})); }
  /// Broadcasts a value for each index of dimension `dim` to the shape of matrices.
  Value spread(Value vector, Shape shape, int64_t dim) {
    return broadcast(vector, shape, {0, dim});
  }
  /// Permutes the rows of each matrix as `order`, [batch, rows], says.
  Value rowsInOrder(Value a, Value order);

  // Masks.
  Value isIndex(Shape shape, int64_t dim, Direction direction, Value number);
  /// Like isIndex(), with a different index for each member of the batch.
  Value isIndexOfEach(Shape shape, int64_t dim, Value each);
  Value isDiagonal(Shape shape);
  Value either(Value lhs, Value rhs) { return binary<stablehlo::OrOp>(lhs, rhs); }

  // Absolute values.
  Value absolute(Value value);
  Value squareRoot(Value value);
  /// |x|, or |Re x| + |Im x|, which LAPACK uses to compare complex numbers.
  Value magnitude(Value value);
  /// Integers in the same order as numbers of at least 0, with NaN as infinity: a reduction that
  /// compares them gives the same result in any order.
  Value comparable(Value sizes);
  /// |x|², which can overflow.
  Value squareOf(Value value);
  /// The product of a real number and an element.
  Value scaled(Value real, Value value);
  /// Converts real numbers to the element type, which may be complex.
  Value fromReal(Value real);
  Value realPart(Value value) { return isComplex() ? real(value) : value; }

  // Reductions.
  Value largestOver(Value value, llvm::ArrayRef<int64_t> dims);
  Value anyOf(Value mask, llvm::ArrayRef<int64_t> dims);
  /// The norms along dimension 1, without overflow.
  Value norm(Value value);

  /// I - tau * v * vᴴ.
  struct Reflector {
    Value vector; // 1 at j, zeros before
    Value tau;
    Value beta; // what the column has at j after the reflection
  };
  /// The reflector whose adjoint zeroes a column below element j.
  Reflector reflector(Value column, Value j);
  /// a - tau * v * (vᴴ a).
  Value reflected(Value a, Value vector, Value tau);

  const mlir::Type element;
};

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_MATRIXBUILDER_H
