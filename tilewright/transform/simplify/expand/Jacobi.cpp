// Eigenvalues of Hermitian matrices and singular values, by Jacobi's rotations.
//
// In step s of a sweep, row i is paired with row (n - 1 - s - i) mod n, so n steps pair each row
// with each other one. All pairs of a step are rotated at once. A sweep is a loop over its steps,
// around it is a loop over sweeps that ends when the matrix has converged.
//
// A pair of rows p, q is rotated by angle θ, where t = tan θ makes element p, q of a Hermitian
// matrix zero. For eigenvalues this is the matrix itself, rotated from both sides. For singular
// values it is Y Yᴴ, where only the rows of Y are rotated, until they are orthogonal.
#include "tilewright/transform/simplify/expand/Routines.h"

#include <cmath>

using namespace mlir;

namespace tilewright::simplify {
namespace {

using enum stablehlo::ComparisonDirection;

/// A matrix converges quadratically, after 5 to 10 sweeps; equal eigenvalues take up to 20.
constexpr int64_t maxSweeps = 40;

/// New rows are row[i] + change[i] * row[i] + other[i] * row[partner of i].
struct Rotations {
  Value change; // cos θ - 1, which keeps more bits than cos θ: real [batch, n]
  Value other;  // sin θ with a phase: [batch, n]
  Value shift;  // what the diagonal of the Hermitian matrix loses: real [batch, n]
};

class Jacobi {
public:
  Jacobi(MatrixBuilder &b, int64_t batch, int64_t n) : b(b), batch(batch), n(n) {
    isDouble = b.realType().isF64();
    epsilon = std::ldexp(1.0, isDouble ? -52 : -23);
  }

  /// Slices of the partners along a dimension: the value in reverse order, rotated by `step`.
  Value partnersOf(Value value, int64_t dim, Value step) {
    const SmallVector<int64_t> shape(typeOf(value).getShape());
    Value reversed = b.reverse(value, dim);
    SmallVector<Value> starts(shape.size(), b.index(0));
    starts[static_cast<size_t>(dim)] = step;
    return b.dynamicSlice(b.concatenate({reversed, reversed}, dim), starts, shape);
  }

  /// The index of each row's partner, for each index along `dim` of a shape.
  Value partnerNumber(ArrayRef<int64_t> shape, int64_t dim, Value step) {
    auto type = b.numbers(shape);
    Value sum = b.add(b.iota(type, dim), b.broadcast(step, shape));
    Value last = b.integer(type, static_cast<uint64_t>(n - 1));
    Value number = b.subtract(last, sum);
    Value size = b.integer(type, static_cast<uint64_t>(n));
    return b.select(b.compare(number, LT, 0), b.add(number, size), number);
  }

  /// |x|, without overflow.
  Value absoluteOf(Value value) {
    if (!b.isComplex())
      return b.absolute(value);
    Value re = b.absolute(b.real(value)), im = b.absolute(b.imaginary(value));
    Value larger = b.binary<stablehlo::MaximumOp>(re, im);
    Value isZero = b.compare(larger, EQ, b.number(typeOf(larger), 0));
    Value unit = b.select(isZero, b.number(typeOf(larger), 1), larger);
    Value x = b.divide(re, unit), y = b.divide(im, unit);
    return b.multiply(larger, b.squareRoot(b.add(b.multiply(x, x), b.multiply(y, y))));
  }

  /// The rotations of the pairs that are `isActive`, from the diagonal, the partners' diagonal, and
  /// the off-diagonal elements with their absolute values.
  Rotations rotate(Value diagonal, Value partners, Value element, Value size, Value isActive,
                   Value step) {
    const int64_t shape[] = {batch, n};
    auto type = b.reals(shape);
    Value one = b.number(type, 1), zero = b.number(type, 0);
    Value divisor = b.select(isActive, size, one);
    // cot 2θ; the tangent is the smaller root of t² + 2t cot 2θ = 1.
    Value cotangent = b.divide(b.subtract(partners, diagonal), b.add(divisor, divisor));
    Value root = b.squareRoot(b.add(one, b.multiply(cotangent, cotangent)));
    Value tangent = b.divide(one, b.add(b.absolute(cotangent), root));
    // The rows of a pair must have opposite signs, even if the cotangent is zero.
    Value isFirst = b.compare(b.iota(b.numbers(shape), 1), LT, partnerNumber(shape, 1, step));
    Value isPositive =
        b.either(b.compare(cotangent, GT, zero), b.both(b.compare(cotangent, EQ, zero), isFirst));
    tangent = b.select(isPositive, tangent, b.negate(tangent));
    tangent = b.select(isActive, tangent, zero);
    Value cosine = b.divide(one, b.squareRoot(b.add(one, b.multiply(tangent, tangent))));
    Value sine = b.multiply(tangent, cosine);
    Value change = b.negate(b.divide(b.multiply(sine, sine), b.add(one, cosine)));
    Value phase = b.isComplex() ? b.complex(b.divide(b.real(element), divisor),
                                            b.divide(b.imaginary(element), divisor))
                                : b.divide(element, divisor);
    return {change, b.scaled(b.negate(sine), phase), b.multiply(tangent, size)};
  }

  /// Matrices with their rows rotated.
  Value rotatedRows(Value a, const Rotations &rotations, Value step) {
    const SmallVector<int64_t> shape(typeOf(a).getShape());
    Value own = b.scaled(b.spread(rotations.change, shape, 1), a);
    Value other = b.multiply(b.spread(rotations.other, shape, 1), partnersOf(a, 1, step));
    return b.add(a, b.add(own, other));
  }

  /// The scale by which each matrix is divided, so that the squares of its elements do not
  /// overflow, and the squares of significant elements do not underflow; 1 for ordinary matrices.
  Value unitOf(Value a) {
    Value largest = b.largestOver(b.magnitude(a), {1, 2});
    auto type = typeOf(largest);
    Value isLarge = b.compare(largest, GT, b.number(type, std::ldexp(1.0, isDouble ? 400 : 50)));
    Value isSmall = b.compare(largest, LT, b.number(type, std::ldexp(1.0, isDouble ? -400 : -30)));
    isSmall = b.both(isSmall, b.compare(largest, GT, b.number(type, 0)));
    return b.select(b.either(isLarge, isSmall), largest, b.number(type, 1));
  }
  /// Whether all elements of a matrix are finite.
  Value isFinite(Value a) {
    Value sum = b.largestOver(b.magnitude(a), {1, 2});
    return b.compare(b.subtract(sum, sum), EQ, b.number(typeOf(sum), 0));
  }
  /// The value, or NaN for matrices that are not finite.
  Value orNan(Value isFinite, Value value) {
    RankedTensorType type = typeOf(value);
    Value nan = b.number(RankedTensorType::get(type.getShape(), b.realType()), std::nan(""));
    if (isa<ComplexType>(type.getElementType()))
      nan = b.complex(nan, nan);
    return b.select(b.broadcast(isFinite, type.getShape(), {0}), value, nan);
  }
  /// Divides each matrix by its own number.
  Value divided(Value a, Value unit) {
    const SmallVector<int64_t> shape(typeOf(a).getShape());
    Value all = b.broadcast(unit, shape, {0});
    return b.isComplex() ? b.complex(b.divide(b.real(a), all), b.divide(b.imaginary(a), all))
                         : b.divide(a, all);
  }
  /// Σ |a|² of each matrix.
  Value sumOfSquares(Value a) { return b.sumOver(b.sumOver(b.squareOf(a), 2), 1); }

  /// The sorted values of each vector, and their indices before sorting.
  std::pair<Value, Value> sorted(Value values, stablehlo::ComparisonDirection direction) {
    SmallVector<Value> both =
        b.sort({values, b.iota(b.numbers({batch, n}), 1)}, 1, [&](ValueRange pair) {
          return SmallVector<Value>{b.compare(pair[0], direction, pair[1])};
        });
    return {both[0], both[1]};
  }
  /// Returns 1 for each matrix for which a mask holds, and 0 otherwise.
  Value info(Value mask) {
    auto type = b.numbers({batch});
    return b.select(mask, b.integer(type, 1), b.integer(type, 0));
  }

  MatrixBuilder &b;
  const int64_t batch, n;
  bool isDouble;
  double epsilon;
};

/// One step of a sweep on Hermitian matrices. `diagonal` holds the diagonal, which is zero in `a`.
class HermitianStep {
public:
  HermitianStep(Jacobi &jacobi, Value a, Value diagonal, Value least, Value step)
      : j(jacobi), b(jacobi.b), a(a), step(step), shape(typeOf(a).getShape()) {
    const int64_t batch = j.batch, n = j.n;
    Value partner = j.partnerNumber({batch, n}, 1, step);
    // Element (i, partner of i) of each matrix.
    auto type = b.numbers({batch, n});
    auto times = [&](Value value, int64_t factor) {
      return b.multiply(value, b.integer(type, static_cast<uint64_t>(factor)));
    };
    Value row = b.add(times(b.iota(type, 0), n), b.iota(type, 1));
    Value element = b.gatherRows(b.reshape(a, {batch * n * n}), b.add(times(row, n), partner));
    Value size = j.absoluteOf(element);
    isActive = b.compare(size, GT, b.broadcast(least, {batch, n}, {0}));
    rotations = j.rotate(diagonal, j.partnersOf(diagonal, 1, step), element, size, isActive, step);
    nextDiagonal = b.subtract(diagonal, rotations.shift);
  }

  /// The matrix rotated from both sides. Both triangles stay equal bit by bit: an element has the
  /// same terms as its mirror image, and each sum has two operands.
  Value rotated() {
    Value change = b.spread(rotations.change, shape, 1),
          cross = b.spread(rotations.change, shape, 2);
    Value row = b.spread(rotations.other, shape, 1);
    Value column = b.conjugate(b.spread(rotations.other, shape, 2));
    Value one = b.number(typeOf(change), 1);
    Value partnerRows = j.partnersOf(a, 1, step);
    Value own = b.scaled(b.add(b.add(change, cross), b.multiply(change, cross)), a);
    Value far = b.multiply(b.multiply(row, column), j.partnersOf(partnerRows, 2, step));
    Value right = b.multiply(b.scaled(b.add(one, change), column), j.partnersOf(a, 2, step));
    Value below = b.multiply(b.scaled(b.add(one, cross), row), partnerRows);
    Value sum = b.add(a, b.add(b.add(own, far), b.add(right, below)));
    Value isPartner = b.compare(j.partnerNumber(shape, 1, step), EQ, b.iota(b.numbers(shape), 2));
    Value isZero = b.either(b.isDiagonal(shape), b.both(isPartner, b.spread(isActive, shape, 1)));
    return b.select(isZero, b.zeros(shape), sum);
  }

  Rotations rotations;
  Value nextDiagonal;

private:
  Jacobi &j;
  MatrixBuilder &b;
  Value a, step, isActive;
  SmallVector<int64_t> shape;
};

} // namespace

Eigen findEigen(MatrixBuilder &b, Value a, bool isLower) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  const int64_t batch = shape[0], n = shape[1];
  Jacobi j(b, batch, n);
  auto index = b.numbers(shape);
  Value isGiven = b.compare(b.iota(index, 1), isLower ? GT : LT, b.iota(index, 2));
  Value given = b.select(isGiven, a, b.zeros(shape));
  Value diagonal = b.realPart(b.diagonalOf(a));
  Value all = b.select(b.isDiagonal(shape), b.spread(b.fromReal(diagonal), shape, 1), given);
  Value isFinite = j.isFinite(all), unit = j.unitOf(all);
  Value known = b.broadcast(isFinite, shape, {0});
  given = b.select(known, j.divided(given, unit), b.zeros(shape));
  Value units = b.broadcast(unit, {batch, n}, {0});
  diagonal = b.select(b.broadcast(isFinite, {batch, n}, {0}), b.divide(diagonal, units),
                      b.number(b.reals({batch, n}), 0));
  Value matrix = b.select(isGiven, given, b.adjoint(given));
  // The matrix has converged if its off-diagonal elements are rounding errors relative to its norm.
  Value off = j.sumOfSquares(matrix),
        norm = b.add(off, b.sumOver(b.multiply(diagonal, diagonal), 1));
  Value small = b.multiply(norm, b.number(b.reals({batch}), j.epsilon * j.epsilon));
  auto isLarge = [&](Value off) { return b.compare(off, GT, small); };
  auto goOn = [&](Value off) { return b.anyOf(isLarge(off), {0}); };
  const Value initial[] = {goOn(off), matrix, diagonal, b.identity(shape), off};
  SmallVector<Value> end = b.loopWhile(maxSweeps, initial, [&](Value, ValueRange state) {
    // Leave elements far below the average to later sweeps. Otherwise rotations between nearly
    // equal eigenvalues, whose angles are arbitrary, would undo the work of others.
    Value least = b.multiply(b.squareRoot(state[4]),
                             b.number(b.reals({batch}), 1.0 / (16.0 * static_cast<double>(n))));
    SmallVector<Value> next = b.loop(n, state.slice(1, 3), [&](Value step, ValueRange state) {
      HermitianStep now(j, state[0], state[1], least, step);
      return SmallVector<Value>{now.rotated(), now.nextDiagonal,
                                j.rotatedRows(state[2], now.rotations, step)};
    });
    Value off = j.sumOfSquares(next[0]);
    return SmallVector<Value>{goOn(off), next[0], next[1], next[2], off};
  });
  auto [values, order] = j.sorted(end[2], LT);
  Value vectors = b.adjoint(b.rowsInOrder(end[3], order));
  values = b.multiply(values, units);
  return {j.orNan(isFinite, vectors), j.orNan(isFinite, values), j.info(isLarge(end[4]))};
}

namespace {

/// Singular values of square matrices.
struct SquareSingular {
  Value rotations; // J with J a = diag(values) * right, null if there are no vectors
  Value values, right, info;
};

/// The rows of J a are orthogonal if J is the product of all rotations.
SquareSingular findSquareSingular(Jacobi &j, Value a, bool hasVectors) {
  MatrixBuilder &b = j.b;
  const int64_t batch = j.batch, n = j.n;
  // Applies the same rotations to the identity.
  const int64_t square[] = {batch, n, n};
  Value rows = hasVectors ? b.concatenate({a, b.identity(square)}, 2) : a;
  auto vectorsOf = [&](Value rows) { return b.sliceAlong(rows, 2, 0, n); };
  auto type = b.reals({batch, n});
  // Rows count as orthogonal if their product is within rounding error. A row that is itself a
  // rounding error of the matrix needs no rotation.
  const double tolerance = 2 * j.epsilon * std::sqrt(static_cast<double>(n));
  Value floor =
      b.multiply(j.sumOfSquares(a),
                 b.number(b.reals({batch}), j.epsilon * j.epsilon / static_cast<double>(n)));
  Value least = b.broadcast(floor, {batch, n}, {0});
  auto mask = RankedTensorType::get({batch, n}, b.builder.getI1Type());
  Value none = b.integer(mask, 0);
  auto truth = RankedTensorType::get({}, b.builder.getI1Type());
  const Value initial[] = {b.integer(truth, n > 1), rows, none};
  SmallVector<Value> end = b.loopWhile(maxSweeps, initial, [&](Value, ValueRange state) {
    SmallVector<Value> next = b.loop(n, {state[1], none}, [&](Value step, ValueRange state) {
      Value y = vectorsOf(state[0]);
      Value products = b.multiply(y, b.conjugate(j.partnersOf(y, 1, step)));
      Value element = b.sumOver(products, 2), length = b.sumOver(b.squareOf(y), 2);
      Value partners = j.partnersOf(length, 1, step), size = j.absoluteOf(element);
      Value bound = b.multiply(b.squareRoot(length), b.squareRoot(partners));
      Value isActive = b.compare(size, GT, b.multiply(bound, b.number(type, tolerance)));
      Value shorter = b.binary<stablehlo::MinimumOp>(length, partners);
      isActive = b.both(isActive, b.compare(shorter, GT, least));
      // A row is not its own partner.
      auto number = b.numbers({batch, n});
      isActive =
          b.both(isActive, b.compare(b.iota(number, 1), NE, j.partnerNumber({batch, n}, 1, step)));
      Rotations rotations = j.rotate(length, partners, element, size, isActive, step);
      return SmallVector<Value>{j.rotatedRows(state[0], rotations, step),
                                b.either(state[1], isActive)};
    });
    return SmallVector<Value>{b.anyOf(next[1], {0, 1}), next[0], next[1]};
  });
  Value lengths = b.norm(b.transpose(vectorsOf(end[1]), {0, 2, 1}));
  auto [values, order] = j.sorted(lengths, GT);
  Value info = j.info(b.anyOf(end[2], {1}));
  if (!hasVectors)
    return {nullptr, values, nullptr, info};
  Value ordered = b.rowsInOrder(end[1], order);
  // The rows divided by their lengths. For the value zero, a factorization supplies the vectors.
  Qr qr = factorQr(b, b.adjoint(vectorsOf(ordered)));
  Value q = productOfReflectors(b, qr.matrix, qr.taus, n);
  Value sign = b.realPart(b.diagonalOf(qr.matrix));
  Value isNegative = b.compare(sign, LT, b.number(typeOf(sign), 0));
  Value right = b.adjoint(q);
  right = b.select(b.spread(isNegative, square, 1), b.negate(right), right);
  return {b.sliceAlong(ordered, 2, n, n), values, right, info};
}

} // namespace

Singular findSingular(MatrixBuilder &b, Value a, bool hasVectors, bool isFull) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  const int64_t batch = shape[0], m = shape[1], n = shape[2];
  if (m < n) {
    // The adjoint of left * values * right.
    auto [left, values, right, info] = findSingular(b, b.adjoint(a), hasVectors, isFull);
    if (!hasVectors)
      return {nullptr, values, nullptr, info};
    return {b.adjoint(right), values, b.adjoint(left), info};
  }
  Jacobi j(b, batch, n);
  Value isFinite = j.isFinite(a), unit = j.unitOf(a);
  Value known = b.select(b.broadcast(isFinite, shape, {0}), j.divided(a, unit), b.zeros(shape));
  // a = q r; the rows of r converge faster than those of a, and r is square.
  Qr qr = factorQr(b, known);
  auto index = b.numbers({batch, n, n});
  Value upper = b.sliceAlong(qr.matrix, 1, 0, n);
  upper =
      b.select(b.compare(b.iota(index, 1), LE, b.iota(index, 2)), upper, b.zeros({batch, n, n}));
  SquareSingular square = findSquareSingular(j, upper, hasVectors);
  Value values = b.multiply(square.values, b.broadcast(unit, {batch, n}, {0}));
  values = j.orNan(isFinite, values);
  if (!hasVectors)
    return {nullptr, values, nullptr, square.info};
  Value q = productOfReflectors(b, qr.matrix, qr.taus, isFull ? m : n);
  Value left = b.batchedDot(b.sliceAlong(q, 2, 0, n), b.adjoint(square.rotations));
  if (isFull && m > n)
    left = b.concatenate({left, b.sliceAlong(q, 2, n, m - n)}, 2);
  return {j.orNan(isFinite, left), values, j.orNan(isFinite, square.right), square.info};
}

} // namespace tilewright::simplify
