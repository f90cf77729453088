// LU with partial pivoting, tridiagonal systems, and updates of Cholesky's factor.
#include "tilewright/transform/simplify/expand/Routines.h"

using namespace mlir;

namespace tilewright::simplify {

using enum stablehlo::ComparisonDirection;

/// The row, from row j on, with the largest element of a column; the first such row in case of a
/// tie: [batch].
static Value pivotRow(MatrixBuilder &b, Value column, Value j) {
  Value size = b.comparable(b.magnitude(column));
  const SmallVector<int64_t> shape(typeOf(size).getShape());
  const auto none = static_cast<uint64_t>(-1);
  size = b.select(b.isIndex(shape, 1, GE, j), size, b.integer(typeOf(size), none));
  const Value initial[] = {
      b.integer(RankedTensorType::get({}, typeOf(size).getElementType()), none),
      b.index(shape[1] - 1)};
  return b.reduce({size, b.iota(b.numbers(shape), 1)}, initial, {1}, [&](ValueRange pair) {
    Value wins = b.compare(pair[0], GT, pair[2]);
    Value tie = b.both(b.compare(pair[0], EQ, pair[2]), b.compare(pair[1], LT, pair[3]));
    wins = b.either(wins, tie);
    return SmallVector<Value>{b.select(wins, pair[0], pair[2]), b.select(wins, pair[1], pair[3])};
  })[1];
}

Lu factorLu(MatrixBuilder &b, Value a) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  const int64_t batch = shape[0], steps = std::min(shape[1], shape[2]);
  const Value initial[] = {a, b.integer(b.numbers({batch, steps}), 0)};
  SmallVector<Value> end = b.loop(steps, initial, [&](Value j, ValueRange state) {
    Value before = state[0], pivot = pivotRow(b, b.columnAt(before, j), j);
    // Exchange rows.
    Value isHere = b.isIndex(shape, 1, EQ, j), isPivot = b.isIndexOfEach(shape, 1, pivot);
    Value chosen = b.sumOver(b.select(isPivot, before, b.zeros(shape)), 1);
    Value here = b.spread(b.rowAt(before, j), shape, 2), row = b.spread(chosen, shape, 2);
    Value swapped = b.select(isHere, row, b.select(isPivot, here, before));
    // A zero pivot is kept: the column is zero below it.
    Value diagonal = b.reshape(b.elementAt(chosen, j), {batch, 1});
    diagonal = b.select(b.compare(diagonal, EQ, b.zeros({batch, 1})), b.number(typeOf(diagonal), 1),
                        diagonal);
    Value lower =
        b.divide(b.columnAt(swapped, j), b.broadcast(diagonal, {batch, shape[1]}, {0, 1}));
    Value factors = b.spread(lower, shape, 1);
    Value rest = b.subtract(swapped, b.multiply(factors, row));
    Value next = b.select(b.isIndex(shape, 2, EQ, j), factors,
                          b.select(b.isIndex(shape, 2, GT, j), rest, swapped));
    next = b.select(b.isIndex(shape, 1, GT, j), next, swapped);
    return SmallVector<Value>{next, b.put(state[1], j, b.plusOne(pivot))};
  });
  return {end[0], end[1]};
}

Value permutationOf(MatrixBuilder &b, Value pivots, int64_t size) {
  const int64_t batch = typeOf(pivots).getDimSize(0), steps = typeOf(pivots).getDimSize(1);
  const int64_t shape[] = {batch, size};
  Value none = b.integer(b.numbers(shape), 0);
  return b
      .loop(steps, b.iota(b.numbers(shape), 1),
            [&](Value j, ValueRange state) {
              Value isPivot = b.isIndexOfEach(shape, 1, b.elementAt(pivots, j));
              Value chosen = b.sumOver(b.select(isPivot, state[0], none), 1);
              Value here = b.broadcast(b.elementAt(state[0], j), shape, {0});
              return SmallVector<Value>{b.put(b.select(isPivot, here, state[0]), j, chosen)};
            })
      .front();
}

Value firstOnDiagonal(MatrixBuilder &b, Value a, llvm::function_ref<Value(Value)> isBad) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  auto index = b.numbers(shape);
  Value found = b.both(b.isDiagonal(shape), isBad(a));
  // The maximum of n - i over the elements found; 0 if none is.
  Value count = b.integer(index, static_cast<uint64_t>(shape[1]));
  Value rest = b.select(found, b.subtract(count, b.iota(index, 1)), b.integer(index, 0));
  Value largest = b.reduce(rest, b.index(0), {1, 2}, [&](ValueRange pair) {
                     return SmallVector<Value>{b.binary<stablehlo::MaximumOp>(pair[0], pair[1])};
                   }).front();
  auto result = typeOf(largest);
  Value number = b.subtract(b.integer(result, static_cast<uint64_t>(shape[1] + 1)), largest);
  return b.select(b.compare(largest, EQ, 0), b.integer(result, 0), number);
}

Value updateCholesky(MatrixBuilder &b, Value r, Value w) {
  const SmallVector<int64_t> shape(typeOf(r).getShape());
  const int64_t batch = shape[0], n = shape[1];
  // Each step rotates row j of R and w such that element j of w becomes zero.
  return b.loop(n, {r, w}, [&](Value j, ValueRange state) {
    Value row = b.rowAt(state[0], j), w = state[1];
    Value x = b.elementAt(row, j), y = b.elementAt(w, j);
    Value length = b.norm(b.concatenate({b.reshape(x, {batch, 1}), b.reshape(y, {batch, 1})}, 1));
    Value isZero = b.compare(length, EQ, b.number(typeOf(length), 0));
    Value divisor = b.select(isZero, b.number(typeOf(length), 1), length);
    Value cosine = b.select(isZero, b.number(typeOf(length), 1), b.divide(x, divisor));
    cosine = b.broadcast(cosine, {batch, n}, {0});
    Value sine = b.broadcast(b.divide(y, divisor), {batch, n}, {0});
    Value next = b.add(b.multiply(cosine, row), b.multiply(sine, w));
    Value rest = b.subtract(b.multiply(cosine, w), b.multiply(sine, row));
    rest = b.put(rest, j, b.zeros({batch}));
    Value matrix = b.select(b.isIndex(shape, 1, EQ, j), b.spread(next, shape, 2), state[0]);
    return SmallVector<Value>{matrix, rest};
  })[0];
}

namespace {
/// Elimination in tridiagonal matrices. Vectors are [batch, n].
struct TridiagonalStep {
  MatrixBuilder &b;
  Value k, next; // the numbers of two rows

  /// The vectors with the elements of rows k and k + 1 replaced.
  Value put(Value vector, Value here, Value below) {
    return b.put(b.put(vector, k, here), next, below);
  }
  /// The matrices with rows k and k + 1 replaced.
  Value putRows(Value a, Value here, Value below) {
    const SmallVector<int64_t> shape(typeOf(a).getShape());
    Value rows = b.select(b.isIndex(shape, 1, EQ, k), b.spread(here, shape, 2), a);
    return b.select(b.isIndex(shape, 1, EQ, next), b.spread(below, shape, 2), rows);
  }
  /// Eliminates element (k + 1, k). The state consists of the diagonals of U (second superdiagonal,
  /// first superdiagonal, main diagonal) and the right-hand side.
  SmallVector<Value> eliminate(Value lower, ValueRange state) {
    const SmallVector<int64_t> shape(typeOf(state[3]).getShape());
    const int64_t batch = shape[0], columns = shape[2];
    Value below = b.elementAt(lower, next), diagonal = b.elementAt(state[1], k);
    Value diagonalBelow = b.elementAt(state[1], next);
    Value above = b.elementAt(state[2], k), aboveBelow = b.elementAt(state[2], next);
    Value stays = b.compare(b.magnitude(diagonal), GE, b.magnitude(below));
    Value pivot = b.select(stays, diagonal, below), other = b.select(stays, below, diagonal);
    // If the pivot is zero, so is the other element, and nothing is left to eliminate.
    Value isZero = b.compare(pivot, EQ, b.zeros({batch}));
    Value factor = b.divide(other, b.select(isZero, b.number(typeOf(pivot), 1), pivot));
    Value pivotAbove = b.select(stays, above, diagonalBelow);
    Value otherAbove = b.select(stays, diagonalBelow, above);
    Value second = b.select(stays, b.zeros({batch}), aboveBelow);
    Value product = b.multiply(factor, aboveBelow);
    Value nextAbove = b.select(stays, aboveBelow, b.negate(product));
    Value nextDiagonal = b.subtract(otherAbove, b.multiply(factor, pivotAbove));
    Value rows[] = {b.rowAt(state[3], k), b.rowAt(state[3], next)};
    auto wide = [&](Value each) { return b.broadcast(each, {batch, columns}, {0}); };
    Value row = b.select(wide(stays), rows[0], rows[1]);
    Value otherRow = b.select(wide(stays), rows[1], rows[0]);
    Value rest = b.subtract(otherRow, b.multiply(wide(factor), row));
    return {b.put(state[0], k, second), put(state[1], pivot, nextDiagonal),
            put(state[2], pivotAbove, nextAbove), putRows(state[3], row, rest)};
  }
};
} // namespace

SmallVector<Value> solveTridiagonal(MatrixBuilder &b, Value lower, Value main, Value upper,
                                    Value rhs) {
  const SmallVector<int64_t> shape(typeOf(rhs).getShape());
  const int64_t batch = shape[0], n = shape[1], columns = shape[2];
  // Elements outside of the matrix are zeros.
  upper = b.put(upper, b.index(n - 1), b.zeros({batch}));
  SmallVector<Value> u =
      b.loop(n - 1, {b.zeros({batch, n}), main, upper, rhs}, [&](Value k, ValueRange state) {
        return TridiagonalStep{b, k, b.plusOne(k)}.eliminate(lower, state);
      });
  // Substitutes from the last row upward. The two rows after the last one are zeros.
  Value none = b.zeros({batch, columns});
  Value x = b.loop(n, {u[3], none, none}, [&](Value number, ValueRange state) {
    Value k = b.subtract(b.index(n - 1), number);
    auto wide = [&](Value vector) {
      return b.broadcast(b.elementAt(vector, k), {batch, columns}, {0});
    };
    Value rest = b.subtract(b.rowAt(state[0], k), b.multiply(wide(u[2]), state[1]));
    rest = b.subtract(rest, b.multiply(wide(u[0]), state[2]));
    Value row = b.divide(rest, wide(u[1]));
    Value next = b.select(b.isIndex(shape, 1, EQ, k), b.spread(row, shape, 2), state[0]);
    return SmallVector<Value>{next, row, state[1]};
  })[0];
  auto index = b.numbers({batch, n});
  Value isZero = b.compare(u[1], EQ, b.zeros({batch, n}));
  Value count = b.integer(index, static_cast<uint64_t>(n));
  Value left = b.select(isZero, b.subtract(count, b.iota(index, 1)), b.integer(index, 0));
  Value largest = b.reduce(left, b.index(0), {1}, [&](ValueRange pair) {
                     return SmallVector<Value>{b.binary<stablehlo::MaximumOp>(pair[0], pair[1])};
                   }).front();
  Value info =
      b.select(b.compare(largest, EQ, 0), b.integer(typeOf(largest), 0),
               b.subtract(b.integer(typeOf(largest), static_cast<uint64_t>(n + 1)), largest));
  // LAPACK overwrites the lower diagonal, which starts at element 1.
  Value second = u[0];
  if (n > 1)
    second = b.pad(b.sliceAlong(second, 1, 0, n - 1), b.zeros({}), {0, 1}, {0, 0}, {0, 0});
  return {second, u[1], u[2], x, info};
}

} // namespace tilewright::simplify
