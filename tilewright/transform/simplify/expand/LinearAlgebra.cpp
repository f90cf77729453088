// Expands cholesky and triangular_solve.
//
// A matrix of up to 64 rows is factored or solved column by column, in a loop. Larger ones are
// divided into blocks of 64, and a loop over the blocks does the same with blocks in place of
// elements. Inverting the triangular diagonal blocks turns all other steps into matrix products.
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/TensorBuilder.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

using enum stablehlo::ComparisonDirection;

constexpr int64_t blockSize = 64;

/// Algorithms on batches of matrices: [batch, rows, columns].
class Matrices {
public:
  Matrices(OpBuilder &builder, Location location) : b(builder, location) {}

  /// Computes the lower Cholesky factor. Reads the lower triangle; the upper triangle of the result
  /// is zero.
  Value factor(Value a) {
    auto [batch, n] = sizesOf(a);
    if (n <= blockSize)
      return lowerTriangle(factorByColumns(a));
    const int64_t blocks = (n + blockSize - 1) / blockSize, padded = blocks * blockSize;
    Value all = b.loop(blocks, extended(a, padded), [&, batch = batch](Value k, ValueRange state) {
                   return SmallVector<Value>{factorStep(state[0], k, batch, blocks)};
                 }).front();
    return b.slice(lowerTriangle(all), {0, 0, 0}, {batch, n, n}, {1, 1, 1});
  }

  /// The solution of a * x = rhs. Reads the lower triangle of a.
  Value solve(Value a, Value rhs) {
    auto [batch, n] = sizesOf(a);
    const int64_t columns = typeOf(rhs).getDimSize(2);
    if (n <= blockSize)
      return solveByRows(a, rhs);
    const int64_t blocks = (n + blockSize - 1) / blockSize, padded = blocks * blockSize;
    a = extended(a, padded);
    rhs = b.pad(rhs, zero(), {0, 0, 0}, {0, padded - n, 0}, {0, 0, 0});
    Value inverses = b.reshape(inverseOf(diagonalBlocks(a, batch, blocks)),
                               {batch, blocks, blockSize, blockSize});
    Value x =
        b.loop(blocks, rhs, [&, batch = batch](Value k, ValueRange state) {
           Value inverse = b.reshape(b.dynamicSlice(inverses, {index(0), k, index(0), index(0)},
                                                    {batch, 1, blockSize, blockSize}),
                                     {batch, blockSize, blockSize});
           Value rows = b.dynamicSlice(state[0], {index(0), firstOf(k), index(0)},
                                       {batch, blockSize, columns});
           Value solved = b.batchedDot(inverse, rows);
           Value rest = b.subtract(state[0], b.batchedDot(belowBlock(columnsOf(a, k), k), solved));
           const int64_t apart[] = {batch, blocks, blockSize, columns};
           Value next = b.select(compareIndex(apart, 1, EQ, k),
                                 b.broadcast(solved, apart, {0, 2, 3}), b.reshape(rest, apart));
           return SmallVector<Value>{b.reshape(next, {batch, padded, columns})};
         }).front();
    return b.slice(x, {0, 0, 0}, {batch, n, columns}, {1, 1, 1});
  }

  Value adjoint(Value a) { return b.conjugate(b.transpose(a, {0, 2, 1})); }

  /// Compares the index along `dim` with a number, an i32 scalar, for each element of a shape.
  Value compareIndex(ArrayRef<int64_t> shape, int64_t dim, stablehlo::ComparisonDirection direction,
                     Value number) {
    auto type = RankedTensorType::get(shape, b.builder.getI32Type());
    return b.compare(b.iota(type, dim), direction, b.broadcast(number, shape));
  }
  /// Compares the row of each element with its column.
  Value compareRowToColumn(ArrayRef<int64_t> shape, stablehlo::ComparisonDirection direction) {
    auto type = RankedTensorType::get(shape, b.builder.getI32Type());
    return b.compare(b.iota(type, 1), direction, b.iota(type, 2));
  }

  /// The matrices with zeros above the diagonal.
  Value lowerTriangle(Value a) {
    return b.select(compareRowToColumn(typeOf(a).getShape(), GE), a, b.number(typeOf(a), 0));
  }

  TensorBuilder b;

private:
  struct Sizes {
    int64_t batch, rows;
  };
  static Sizes sizesOf(Value a) { return {typeOf(a).getDimSize(0), typeOf(a).getDimSize(1)}; }

  Value zero() { return b.number(RankedTensorType::get({}, element), 0); }
  Value index(int64_t number) {
    return b.integer(RankedTensorType::get({}, b.builder.getI32Type()),
                     static_cast<uint64_t>(number));
  }
  /// The first row of a block.
  Value firstOf(Value block) { return b.multiply(block, index(blockSize)); }

  /// Column j of each matrix: [batch, rows].
  Value columnAt(Value a, Value j) {
    auto [batch, n] = sizesOf(a);
    return b.reshape(b.dynamicSlice(a, {index(0), index(0), j}, {batch, n, 1}), {batch, n});
  }
  /// Element j, j of each matrix: [batch].
  Value diagonalAt(Value a, Value j) {
    const int64_t batch = sizesOf(a).batch;
    return b.reshape(b.dynamicSlice(a, {index(0), j, j}, {batch, 1, 1}), {batch});
  }
  /// The columns of block k: [batch, rows, 64].
  Value columnsOf(Value a, Value k) {
    auto [batch, n] = sizesOf(a);
    return b.dynamicSlice(a, {index(0), index(0), firstOf(k)}, {batch, n, blockSize});
  }

  Value squareRoot(Value value) {
    const bool isComplex = isa<ComplexType>(typeOf(value).getElementType());
    Value part = isComplex ? b.real(value) : value;
    Value root = stablehlo::SqrtOp::create(b.builder, b.location, part.getType(), part, nullptr);
    return isComplex ? b.complex(root, b.number(typeOf(root), 0)) : root;
  }

  Value factorByColumns(Value a) {
    const SmallVector<int64_t> shape(typeOf(a).getShape());
    auto [batch, n] = sizesOf(a);
    return b
        .loop(n, a,
              [&, batch = batch, n = n](Value j, ValueRange state) {
                Value before = state[0], diagonal = squareRoot(diagonalAt(before, j));
                Value spread = b.broadcast(diagonal, {batch, n}, {0});
                Value column = b.divide(columnAt(before, j), spread);
                column = b.select(compareIndex({batch, n}, 1, EQ, j), spread, column);
                Value down = b.broadcast(column, shape, {0, 1});
                Value across = b.conjugate(b.broadcast(column, shape, {0, 2}));
                Value next = b.select(compareIndex(shape, 2, GT, j),
                                      b.subtract(before, b.multiply(down, across)), before);
                return SmallVector<Value>{b.select(compareIndex(shape, 2, EQ, j), down, next)};
              })
        .front();
  }

  Value solveByRows(Value a, Value rhs) {
    const SmallVector<int64_t> shape(typeOf(rhs).getShape());
    auto [batch, n] = sizesOf(a);
    const int64_t columns = shape[2];
    return b
        .loop(n, rhs,
              [&, batch = batch](Value j, ValueRange state) {
                Value row = b.reshape(
                    b.dynamicSlice(state[0], {index(0), j, index(0)}, {batch, 1, columns}),
                    {batch, columns});
                Value pivot = b.broadcast(diagonalAt(a, j), {batch, columns}, {0});
                Value solved = b.broadcast(b.divide(row, pivot), shape, {0, 2});
                Value product = b.multiply(b.broadcast(columnAt(a, j), shape, {0, 1}), solved);
                Value next = b.select(compareIndex(shape, 1, GT, j), b.subtract(state[0], product),
                                      state[0]);
                return SmallVector<Value>{b.select(compareIndex(shape, 1, EQ, j), solved, next)};
              })
        .front();
  }

  /// The inverses of lower triangular matrices of up to 64 rows.
  Value inverseOf(Value a) {
    RankedTensorType type = typeOf(a);
    Value identity =
        b.select(compareRowToColumn(type.getShape(), EQ), b.number(type, 1), b.number(type, 0));
    return solveByRows(a, identity);
  }

  /// Pads with rows and columns of the identity matrix. The masks have the shape of the blocks of
  /// diagonalBlocks(), so that one kernel can compute both.
  Value extended(Value a, int64_t padded) {
    element = typeOf(a).getElementType();
    auto [batch, n] = sizesOf(a);
    const int64_t more = padded - n, blocks = padded / blockSize;
    if (more == 0)
      return a;
    Value larger = b.pad(a, zero(), {0, 0, 0}, {0, more, more}, {0, 0, 0});
    const int64_t apart[] = {batch, blocks, blockSize, blocks, blockSize};
    auto number = RankedTensorType::get(apart, b.builder.getI32Type());
    auto sameIndex = [&](int64_t dim, int64_t other) {
      return b.compare(b.iota(number, dim), EQ, b.iota(number, other));
    };
    Value isNew = b.both(sameIndex(1, 3), sameIndex(2, 4));
    isNew = b.both(isNew, b.compare(b.iota(number, 1), EQ, blocks - 1));
    isNew = b.both(isNew, b.compare(b.iota(number, 2), GE, blockSize - more));
    Value all = b.reshape(larger, apart);
    return b.reshape(b.select(isNew, b.number(typeOf(all), 1), all), {batch, padded, padded});
  }

  /// The blocks on the diagonal: [batch * blocks, 64, 64].
  Value diagonalBlocks(Value a, int64_t batch, int64_t blocks) {
    const int64_t apart[] = {batch, blocks, blockSize, blocks, blockSize};
    auto type = RankedTensorType::get(apart, b.builder.getI32Type());
    Value isDiagonal = b.compare(b.iota(type, 1), EQ, b.iota(type, 3));
    Value all = b.reshape(a, apart);
    // The other terms of the sum are zeros, so the sum is exact.
    Value diagonal = b.sumOver(b.select(isDiagonal, all, b.number(typeOf(all), 0)), 3);
    return b.reshape(diagonal, {batch * blocks, blockSize, blockSize});
  }

  /// The columns of block k, with zeros in the rows of all blocks up to k.
  Value belowBlock(Value columns, Value k) {
    const SmallVector<int64_t> shape(typeOf(columns).getShape());
    const int64_t apart[] = {shape[0], shape[1] / blockSize, blockSize, shape[2]};
    Value all = b.reshape(columns, apart);
    Value below = b.select(compareIndex(apart, 1, GT, k), all, b.number(typeOf(all), 0));
    return b.reshape(below, shape);
  }

  /// Factors the columns of block k, and subtracts their product from the rest.
  Value factorStep(Value a, Value k, int64_t batch, int64_t blocks) {
    const int64_t n = blocks * blockSize;
    Value diagonal =
        b.dynamicSlice(a, {index(0), firstOf(k), firstOf(k)}, {batch, blockSize, blockSize});
    diagonal = lowerTriangle(factorByColumns(diagonal));
    Value below = belowBlock(b.batchedDot(columnsOf(a, k), adjoint(inverseOf(diagonal))), k);
    const int64_t rows[] = {batch, blocks, blockSize, blockSize};
    Value factored = b.select(compareIndex(rows, 1, EQ, k), b.broadcast(diagonal, rows, {0, 2, 3}),
                              b.reshape(below, rows));
    Value rest = b.subtract(a, b.batchedDot(below, adjoint(below)));
    const int64_t columns[] = {batch, n, blocks, blockSize};
    factored = b.broadcast(b.reshape(factored, {batch, n, blockSize}), columns, {0, 1, 3});
    Value next = b.select(compareIndex(columns, 2, EQ, k), factored, b.reshape(rest, columns));
    return b.reshape(next, {batch, n, n});
  }

  Type element;
};

/// The type in which matrices are computed: at least f32.
Type wideTypeOf(Value a) {
  Type element = typeOf(a).getElementType();
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32
             ? Type(Float32Type::get(a.getContext()))
             : element;
}

/// Reshapes a tensor with any number of batch dimensions to [batch, rows, columns].
Value flattened(TensorBuilder &b, Value value) {
  const ArrayRef<int64_t> shape = typeOf(value).getShape();
  int64_t batch = 1;
  for (int64_t size : shape.drop_back(2))
    batch *= size;
  return b.reshape(value, {batch, shape[shape.size() - 2], shape.back()});
}

/// Why the matrices of an op cannot be factored or solved; null if they can.
const char *refuseMatrices(Operation *op) {
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults())) {
    if (!isStatic(value) || typeOf(value).getNumElements() == 0)
      return "a shape is dynamic or empty";
    if (!isa<FloatType, ComplexType>(typeOf(value).getElementType()))
      return "the elements are not plain numbers";
  }
  return nullptr;
}

} // namespace

LogicalResult expandCholesky(stablehlo::CholeskyOp op, RewriterBase &rewriter) {
  if (const char *reason = refuseMatrices(op))
    return rewriter.notifyMatchFailure(op, reason);
  Matrices matrices(rewriter, op.getLoc());
  TensorBuilder &b = matrices.b;
  const Type element = typeOf(op.getA()).getElementType();
  Value a = flattened(b, b.convert(op.getA(), wideTypeOf(op.getA())));
  // A = U' U with the adjoint U' means that the transpose of U is the lower factor of the transpose
  // of A. Taking adjoints instead would turn zeros of the lower triangle into -0.
  if (!op.getLower())
    a = b.transpose(a, {0, 2, 1});
  Value result = matrices.factor(a);
  if (!op.getLower())
    result = b.transpose(result, {0, 2, 1});
  rewriter.replaceOp(op, b.convert(b.reshape(result, typeOf(op.getResult()).getShape()), element));
  return success();
}

LogicalResult expandTriangularSolve(stablehlo::TriangularSolveOp op, RewriterBase &rewriter) {
  if (const char *reason = refuseMatrices(op))
    return rewriter.notifyMatchFailure(op, reason);
  Matrices matrices(rewriter, op.getLoc());
  TensorBuilder &b = matrices.b;
  const Type element = typeOf(op.getB()).getElementType(), wide = wideTypeOf(op.getB());
  Value a = flattened(b, b.convert(op.getA(), wide));
  Value rhs = flattened(b, b.convert(op.getB(), wide));
  // Solve M * x = rhs with a lower triangular M. M is op(a), or its transpose for x * op(a) = rhs;
  // rows are reversed if it is upper triangular.
  const bool transposes = op.getTransposeA() != stablehlo::Transpose::NO_TRANSPOSE;
  if (op.getTransposeA() == stablehlo::Transpose::ADJOINT)
    a = b.conjugate(a);
  const bool swaps = transposes == op.getLeftSide();
  if (swaps)
    a = b.transpose(a, {0, 2, 1});
  if (!op.getLeftSide())
    rhs = b.transpose(rhs, {0, 2, 1});
  const bool isReversed = op.getLower() == swaps;
  if (isReversed) {
    a = b.reverse(b.reverse(a, 1), 2);
    rhs = b.reverse(rhs, 1);
  }
  if (op.getUnitDiagonal())
    a = b.select(matrices.compareRowToColumn(typeOf(a).getShape(), EQ), b.number(typeOf(a), 1), a);
  Value x = matrices.solve(a, rhs);
  if (isReversed)
    x = b.reverse(x, 1);
  if (!op.getLeftSide())
    x = b.transpose(x, {0, 2, 1});
  rewriter.replaceOp(op, b.convert(b.reshape(x, typeOf(op.getResult()).getShape()), element));
  return success();
}

} // namespace tilewright::simplify
