// Factorizations by Householder's reflectors, column by column in a loop.
#include "tilewright/transform/simplify/expand/Routines.h"

using namespace mlir;

namespace tilewright::simplify {

using enum stablehlo::ComparisonDirection;

/// The next matrix of a factorization: column j is taken from `column`, from row `first` on, and
/// the columns to its right are taken from `rest`.
static Value withColumn(MatrixBuilder &b, Value before, Value rest, Value column, Value j,
                        Value first) {
  const SmallVector<int64_t> shape(typeOf(before).getShape());
  Value stored = b.select(b.isIndex(shape, 1, GE, first), b.spread(column, shape, 1), before);
  Value next = b.select(b.isIndex(shape, 2, GT, j), rest, before);
  return b.select(b.isIndex(shape, 2, EQ, j), stored, next);
}

/// Clears column j below the diagonal; `before` becomes the next matrix. Returns tau.
static Value clearColumn(MatrixBuilder &b, Value &before, Value j) {
  auto [vector, tau, beta] = b.reflector(b.columnAt(before, j), j);
  Value rest = b.reflected(before, vector, b.conjugate(tau));
  // beta on the diagonal, the reflector below
  before = withColumn(b, before, rest, b.put(vector, j, beta), j, j);
  return tau;
}

Qr factorQr(MatrixBuilder &b, Value a) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  const int64_t batch = shape[0], steps = std::min(shape[1], shape[2]);
  SmallVector<Value> end =
      b.loop(steps, {a, b.zeros({batch, steps})}, [&](Value j, ValueRange state) {
        Value matrix = state[0], tau = clearColumn(b, matrix, j);
        return SmallVector<Value>{matrix, b.put(state[1], j, tau)};
      });
  return {end[0], end[1]};
}

/// For each matrix, the column, from j on, to process next: first the fixed columns, then the
/// column with the largest norm, or the first such column in case of a tie.
static Value nextColumn(MatrixBuilder &b, Value a, Value fixed, Value j) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  const int64_t columns[] = {shape[0], shape[2]};
  Value length = b.comparable(b.norm(b.select(b.isIndex(shape, 1, GE, j), a, b.zeros(shape))));
  Value isLeft = b.isIndex(columns, 1, GE, j);
  auto number = b.numbers(columns);
  Value rank = b.select(b.compare(fixed, NE, 0), b.integer(number, 2), b.integer(number, 1));
  rank = b.select(isLeft, rank, b.integer(number, 0));
  const Value initial[] = {b.index(-1),
                           b.integer(RankedTensorType::get({}, typeOf(length).getElementType()),
                                     static_cast<uint64_t>(-1)),
                           b.index(0)};
  return b.reduce({rank, length, b.iota(number, 1)}, initial, {1}, [&](ValueRange pair) {
    // Fixed columns keep their order.
    Value isSame = b.compare(pair[0], EQ, pair[3]);
    Value isFixed = b.both(isSame, b.compare(pair[0], EQ, 2));
    Value isFree = b.both(isSame, b.compare(pair[0], NE, 2));
    Value isFirst = b.compare(pair[2], LT, pair[5]);
    Value isTie = b.both(b.compare(pair[1], EQ, pair[4]), isFirst);
    Value wins = b.either(b.compare(pair[0], GT, pair[3]), b.both(isFixed, isFirst));
    Value isLonger = b.either(b.compare(pair[1], GT, pair[4]), isTie);
    wins = b.either(wins, b.both(isFree, isLonger));
    SmallVector<Value> result;
    for (unsigned i = 0; i < 3; ++i)
      result.push_back(b.select(wins, pair[i], pair[i + 3]));
    return result;
  })[2];
}

PivotedQr factorPivotedQr(MatrixBuilder &b, Value a, Value fixed) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  const int64_t batch = shape[0], steps = std::min(shape[1], shape[2]);
  const int64_t columns[] = {batch, shape[2]};
  auto number = b.numbers(columns);
  /// Exchanges elements j and `chosen` of each index vector.
  auto exchanged = [&](Value vector, Value j, Value isChosen) {
    Value value = b.sumOver(b.select(isChosen, vector, b.integer(number, 0)), 1);
    Value here = b.broadcast(b.elementAt(vector, j), columns, {0});
    return b.put(b.select(isChosen, here, vector), j, value);
  };
  const Value initial[] = {a, b.plusOne(b.iota(number, 1)), b.zeros({batch, steps}), fixed};
  SmallVector<Value> end = b.loop(steps, initial, [&](Value j, ValueRange state) {
    Value before = state[0], chosen = nextColumn(b, before, state[3], j);
    Value isChosen = b.isIndexOfEach(shape, 2, chosen);
    Value column = b.sumOver(b.select(isChosen, before, b.zeros(shape)), 2);
    Value here = b.spread(b.columnAt(before, j), shape, 1);
    Value matrix = b.select(isChosen, here, before);
    matrix = b.select(b.isIndex(shape, 2, EQ, j), b.spread(column, shape, 1), matrix);
    Value isPivot = b.isIndexOfEach(columns, 1, chosen);
    Value tau = clearColumn(b, matrix, j);
    return SmallVector<Value>{matrix, exchanged(state[1], j, isPivot), b.put(state[2], j, tau),
                              exchanged(state[3], j, isPivot)};
  });
  return {end[0], end[1], end[2]};
}

/// Reflector j, which is stored below the diagonal of `a`.
static Value vectorAt(MatrixBuilder &b, Value a, Value j) {
  const int64_t batch = typeOf(a).getDimSize(0), rows = typeOf(a).getDimSize(1);
  Value vector =
      b.select(b.isIndex({batch, rows}, 1, GT, j), b.columnAt(a, j), b.zeros({batch, rows}));
  return b.put(vector, j, b.number(b.elements({batch}), 1));
}

/// Q c, or Qᴴ c.
static Value applied(MatrixBuilder &b, Value a, Value taus, Value c, bool isAdjoint) {
  const int64_t steps = typeOf(taus).getDimSize(1);
  return b
      .loop(steps, c,
            [&](Value number, ValueRange state) {
              // For Q c, the last reflector is applied first.
              Value j = isAdjoint ? number : b.subtract(b.index(steps - 1), number);
              Value tau = b.elementAt(taus, j);
              return SmallVector<Value>{
                  b.reflected(state[0], vectorAt(b, a, j), isAdjoint ? b.conjugate(tau) : tau)};
            })
      .front();
}

Value productOfReflectors(MatrixBuilder &b, Value a, Value taus, int64_t columns) {
  const int64_t batch = typeOf(a).getDimSize(0), rows = typeOf(a).getDimSize(1);
  return applied(b, a, taus, b.identity({batch, rows, columns}), /*isAdjoint=*/false);
}

Value multiplyByReflectors(MatrixBuilder &b, Value a, Value taus, Value c, bool isLeft,
                           bool isAdjoint) {
  // c Q is the adjoint of Qᴴ cᴴ.
  return isLeft ? applied(b, a, taus, c, isAdjoint)
                : b.adjoint(applied(b, a, taus, b.adjoint(c), !isAdjoint));
}

/// a - tau * (a v) * vᴴ.
static Value reflectedFromRight(MatrixBuilder &b, Value a, Value vector, Value tau) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  Value column = b.reshape(vector, {shape[0], shape[2], 1});
  Value product = b.reshape(b.batchedDot(a, column), {shape[0], shape[1]});
  product = b.multiply(product, b.broadcast(tau, {shape[0], shape[1]}, {0}));
  Value row = b.spread(b.conjugate(vector), shape, 2);
  return b.subtract(a, b.multiply(b.spread(product, shape, 1), row));
}

Qr reduceToHessenberg(MatrixBuilder &b, Value a) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  const int64_t batch = shape[0], steps = shape[1] - 1;
  if (steps == 0)
    return {a, b.zeros({batch, 0})};
  SmallVector<Value> end =
      b.loop(steps, {a, b.zeros({batch, steps})}, [&](Value j, ValueRange state) {
        Value before = state[0], below = b.plusOne(j);
        auto [vector, tau, beta] = b.reflector(b.columnAt(before, j), below);
        Value rest = b.reflected(before, vector, b.conjugate(tau));
        Value matrix = withColumn(b, before, rest, b.put(vector, below, beta), j, below);
        // The reflector is zero in all elements up to j, so the columns up to j do not change.
        return SmallVector<Value>{reflectedFromRight(b, matrix, vector, tau),
                                  b.put(state[1], j, tau)};
      });
  return {end[0], end[1]};
}

/// The Hermitian matrix with this lower triangle.
static Value completed(MatrixBuilder &b, Value a) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  auto index = b.numbers(shape);
  Value isLower = b.compare(b.iota(index, 1), GT, b.iota(index, 2));
  Value all = b.select(isLower, a, b.adjoint(a));
  return b.select(b.isDiagonal(shape), b.fromReal(b.realPart(a)), all);
}

Tridiagonal reduceToTridiagonal(MatrixBuilder &b, Value a, bool isLower) {
  // The reduction of an upper triangle starts from its last column.
  auto turned = [&](Value value, ArrayRef<int64_t> dims) {
    for (int64_t dim : dims)
      value = isLower ? value : b.reverse(value, dim);
    return value;
  };
  Value given = turned(a, {1, 2});
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  const int64_t batch = shape[0], steps = shape[1] - 1;
  if (steps == 0) {
    Value main = b.realPart(b.reshape(a, {batch, 1}));
    return {b.fromReal(b.realPart(a)), main, b.number(b.reals({batch, 0}), 0), b.zeros({batch, 0})};
  }
  // The state: the matrix; the vectors, whose first element is replaced by the remaining one
  // (beta); the factors.
  const Value initial[] = {completed(b, given), b.zeros(shape), b.zeros({batch, steps})};
  SmallVector<Value> end = b.loop(steps, initial, [&](Value j, ValueRange state) {
    Value before = state[0], below = b.plusOne(j);
    auto [vector, tau, beta] = b.reflector(b.columnAt(before, j), below);
    Value left = b.reflected(before, vector, b.conjugate(tau));
    Value next = reflectedFromRight(b, left, vector, tau);
    Value column = b.spread(b.put(vector, below, beta), shape, 1);
    Value vectors = b.select(b.isIndex(shape, 2, EQ, j), column, state[1]);
    return SmallVector<Value>{next, vectors, b.put(state[2], j, tau)};
  });
  Value main = b.realPart(b.diagonalOf(end[0]));
  auto index = b.numbers(shape);
  Value isBelow = b.compare(b.iota(index, 1), GT, b.iota(index, 2));
  Value matrix = b.select(isBelow, end[1], given);
  matrix = b.select(b.isDiagonal(shape), b.spread(b.fromReal(main), shape, 1), matrix);
  // The first element of each vector is on the subdiagonal.
  Value under = b.slice(end[1], {0, 1, 0}, {batch, steps, steps}, {1, 1, 1});
  Value beside = b.realPart(b.diagonalOf(under));
  return {turned(matrix, {1, 2}), turned(main, {1}), turned(beside, {1}), turned(end[2], {1})};
}

} // namespace tilewright::simplify
