// Expands the factorizations that JAX calls by name on GPUs: Cholesky (potrf), LU (getrf), QR
// (geqrf, orgqr). The results are those of LAPACK: a unit lower triangle below the diagonal of U,
// reflectors below the diagonal of R, pivots from 1.
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/TensorBuilder.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

using enum stablehlo::ComparisonDirection;

/// Algorithms on batches: matrices are [batch, rows, columns], vectors [batch, elements].
class Factorization {
public:
  Factorization(OpBuilder &builder, Location location, Type element)
      : b(builder, location), element(element) {}

  /// [batch, …] of a tensor whose last `kept` dimensions are not batch dimensions.
  Value flattened(Value value, size_t kept) {
    const ArrayRef<int64_t> shape = typeOf(value).getShape();
    SmallVector<int64_t> result = {1};
    for (auto [dim, size] : llvm::enumerate(shape)) {
      if (dim < shape.size() - kept)
        result[0] *= size;
      else
        result.push_back(size);
    }
    return b.reshape(value, result);
  }

  /// LU and the pivots.
  std::pair<Value, Value> factorLu(Value a) {
    const SmallVector<int64_t> shape(typeOf(a).getShape());
    const int64_t batch = shape[0], steps = std::min(shape[1], shape[2]);
    SmallVector<Value> end =
        b.loop(steps, {a, b.integer(numbers({batch, steps}), 0)}, [&](Value j, ValueRange state) {
          Value before = state[0], pivot = pivotRow(columnAt(before, j), j);
          // Exchange rows.
          Value isHere = isIndex(shape, 1, EQ, j), isPivot = isIndexOfEach(shape, 1, pivot);
          Value chosen = b.sumOver(b.select(isPivot, before, zeros(shape)), 1);
          Value here = b.broadcast(rowAt(before, j), shape, {0, 2});
          Value row = b.broadcast(chosen, shape, {0, 2});
          Value swapped = b.select(isHere, row, b.select(isPivot, here, before));
          // A zero stays: its column is zero below it.
          Value diagonal = b.reshape(elementAt(chosen, j), {batch, 1});
          diagonal = b.select(b.compare(diagonal, EQ, zeros({batch, 1})),
                              b.number(typeOf(diagonal), 1), diagonal);
          Value lower =
              b.divide(columnAt(swapped, j), b.broadcast(diagonal, {batch, shape[1]}, {0, 1}));
          Value below = isIndex(shape, 1, GT, j);
          Value factors = b.broadcast(lower, shape, {0, 1});
          Value rest = b.subtract(swapped, b.multiply(factors, row));
          Value next = b.select(isIndex(shape, 2, EQ, j), factors,
                                b.select(isIndex(shape, 2, GT, j), rest, swapped));
          next = b.select(below, next, swapped);
          return SmallVector<Value>{next, put(state[1], j, plusOne(pivot))};
        });
    return {end[0], end[1]};
  }

  /// The permutation that a sequence of exchanges (j, pivots[j]) makes of 0, 1, 2, …
  Value permutation(Value pivots, int64_t size) {
    const int64_t batch = typeOf(pivots).getDimSize(0), steps = typeOf(pivots).getDimSize(1);
    const int64_t shape[] = {batch, size};
    return b
        .loop(steps, b.iota(numbers(shape), 1),
              [&](Value j, ValueRange state) {
                Value pivot = elementAt(pivots, j);
                Value isPivot = isIndexOfEach(shape, 1, pivot);
                Value chosen =
                    b.sumOver(b.select(isPivot, state[0], b.integer(numbers(shape), 0)), 1);
                Value here = b.broadcast(elementAt(state[0], j), shape, {0});
                Value next = b.select(isPivot, here, state[0]);
                return SmallVector<Value>{put(next, j, chosen)};
              })
        .front();
  }

  /// R with the reflectors below its diagonal, and their factors.
  std::pair<Value, Value> factorQr(Value a) {
    const SmallVector<int64_t> shape(typeOf(a).getShape());
    const int64_t batch = shape[0], steps = std::min(shape[1], shape[2]);
    SmallVector<Value> end =
        b.loop(steps, {a, zeros({batch, steps})}, [&](Value j, ValueRange state) {
          Value before = state[0];
          auto [vector, tau, beta] = reflector(columnAt(before, j), j);
          Value rest = reflected(before, vector, b.conjugate(tau));
          Value stored = put(vector, j, beta); // beta on the diagonal, the reflector below
          Value column =
              b.select(isIndex(shape, 1, GE, j), b.broadcast(stored, shape, {0, 1}), before);
          Value next = b.select(isIndex(shape, 2, GT, j), rest, before);
          next = b.select(isIndex(shape, 2, EQ, j), column, next);
          return SmallVector<Value>{next, put(state[1], j, tau)};
        });
    return {end[0], end[1]};
  }

  /// The first columns of the product of the reflectors below the diagonal of `a`.
  Value productOfReflectors(Value a, Value taus) {
    const SmallVector<int64_t> shape(typeOf(a).getShape());
    const int64_t batch = shape[0], rows = shape[1], steps = typeOf(taus).getDimSize(1);
    RankedTensorType type = typeOf(a);
    auto index = numbers(shape);
    Value identity = b.select(b.compare(b.iota(index, 1), EQ, b.iota(index, 2)), b.number(type, 1),
                              b.number(type, 0));
    return b
        .loop(steps, identity,
              [&](Value number, ValueRange state) {
                Value j =
                    b.subtract(b.integer(typeOf(number), static_cast<uint64_t>(steps - 1)), number);
                Value vector = b.select(isIndex({batch, rows}, 1, GT, j), columnAt(a, j),
                                        zeros({batch, rows}));
                vector = put(vector, j, b.number(elements({batch}), 1));
                return SmallVector<Value>{reflected(state[0], vector, elementAt(taus, j))};
              })
        .front();
  }

  /// For each matrix, the number from 1 of the first element on the diagonal for which `isBad`
  /// holds; 0 if there is none.
  Value firstOnDiagonal(Value a, llvm::function_ref<Value(Value)> isBad) {
    const ArrayRef<int64_t> shape = typeOf(a).getShape();
    auto index = numbers(shape);
    Value row = b.iota(index, 1);
    Value found = b.both(b.compare(row, EQ, b.iota(index, 2)), isBad(a));
    // The largest of n - i; 0 if no element is found.
    Value count = b.integer(index, static_cast<uint64_t>(shape[1]));
    Value rest = b.select(found, b.subtract(count, row), b.integer(index, 0));
    Value largest = reduceTo({rest}, {b.integer(numbers({}), 0)}, {1, 2}, [&](ValueRange pair) {
                      return SmallVector<Value>{b.binary<stablehlo::MaximumOp>(pair[0], pair[1])};
                    }).front();
    auto result = typeOf(largest);
    Value number = b.subtract(b.integer(result, static_cast<uint64_t>(shape[1] + 1)), largest);
    return b.select(b.compare(largest, EQ, 0), b.integer(result, 0), number);
  }

  TensorBuilder b;

private:
  struct Reflector {
    Value vector; // 1 at j, zeros before
    Value tau;
    Value beta; // what the column has at j after the reflection
  };

  RankedTensorType numbers(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.builder.getI32Type());
  }
  RankedTensorType elements(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  }
  Value zeros(ArrayRef<int64_t> shape) { return b.number(elements(shape), 0); }
  Value index(uint64_t number) { return b.integer(numbers({}), number); }
  Value plusOne(Value value) { return b.add(value, b.integer(typeOf(value), 1)); }

  Value columnAt(Value a, Value j) {
    const ArrayRef<int64_t> shape = typeOf(a).getShape();
    return b.reshape(b.dynamicSlice(a, {index(0), index(0), j}, {shape[0], shape[1], 1}),
                     {shape[0], shape[1]});
  }
  Value rowAt(Value a, Value j) {
    const ArrayRef<int64_t> shape = typeOf(a).getShape();
    return b.reshape(b.dynamicSlice(a, {index(0), j, index(0)}, {shape[0], 1, shape[2]}),
                     {shape[0], shape[2]});
  }
  /// Element j of each vector: [batch].
  Value elementAt(Value vector, Value j) {
    const int64_t batch = typeOf(vector).getDimSize(0);
    return b.reshape(b.dynamicSlice(vector, {index(0), j}, {batch, 1}), {batch});
  }
  /// The vectors with element j replaced.
  Value put(Value vector, Value j, Value value) {
    const SmallVector<int64_t> shape(typeOf(vector).getShape());
    return b.select(isIndex(shape, 1, EQ, j), b.broadcast(value, shape, {0}), vector);
  }

  Value isIndex(ArrayRef<int64_t> shape, int64_t dim, stablehlo::ComparisonDirection direction,
                Value number) {
    return b.compare(b.iota(numbers(shape), dim), direction, b.broadcast(number, shape));
  }
  /// Like isIndex(), with a number for each member of the batch.
  Value isIndexOfEach(ArrayRef<int64_t> shape, int64_t dim, Value each) {
    return b.compare(b.iota(numbers(shape), dim), EQ, b.broadcast(each, shape, {0}));
  }

  /// Reduces dimensions with a body.
  SmallVector<Value> reduceTo(ArrayRef<Value> values, ArrayRef<Value> inits, ArrayRef<int64_t> dims,
                              llvm::function_ref<SmallVector<Value>(ValueRange)> combine) {
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(typeOf(values[0]).getShape()))
      if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
        shape.push_back(size);
    SmallVector<Type> types, scalars;
    for (Value init : inits) {
      scalars.push_back(init.getType());
      types.push_back(RankedTensorType::get(shape, typeOf(init).getElementType()));
    }
    llvm::append_range(scalars, SmallVector<Type>(scalars));
    auto reduce = stablehlo::ReduceOp::create(b.builder, b.location, types, values, inits, dims);
    OpBuilder::InsertionGuard guard(b.builder);
    Block *body = b.builder.createBlock(&reduce.getBody(), {}, scalars,
                                        SmallVector<Location>(scalars.size(), b.location));
    stablehlo::ReturnOp::create(b.builder, b.location, combine(body->getArguments()));
    return SmallVector<Value>(reduce.getResults());
  }

  Value absolute(Value value) {
    return stablehlo::AbsOp::create(b.builder, b.location, value.getType(), value);
  }
  bool isComplex() const { return isa<ComplexType>(element); }
  /// |x|, or |Re x| + |Im x|, by which LAPACK compares complex numbers.
  Value magnitude(Value value) {
    return isComplex() ? b.add(absolute(b.real(value)), absolute(b.imaginary(value)))
                       : absolute(value);
  }

  /// The row from j on with the largest element of a column, the first of equal ones: [batch].
  Value pivotRow(Value column, Value j) {
    Value size = magnitude(column);
    const ArrayRef<int64_t> shape = typeOf(size).getShape();
    size = b.select(isIndex(shape, 1, GE, j), size, b.number(typeOf(size), -1));
    auto scalar = RankedTensorType::get({}, typeOf(size).getElementType());
    const int64_t rows = shape[1];
    Value best = reduceTo(
        {size, b.iota(numbers(shape), 1)},
        {b.number(scalar, -1), index(static_cast<uint64_t>(rows - 1))}, {1}, [&](ValueRange pair) {
          Value wins = b.compare(pair[0], GT, pair[2]);
          Value tie = b.both(b.compare(pair[0], EQ, pair[2]), b.compare(pair[1], LT, pair[3]));
          wins = b.binary<stablehlo::OrOp>(wins, tie);
          return SmallVector<Value>{b.select(wins, pair[0], pair[2]),
                                    b.select(wins, pair[1], pair[3])};
        })[1];
    return best;
  }

  /// a - tau * v * (vᴴ a).
  Value reflected(Value a, Value vector, Value tau) {
    const SmallVector<int64_t> shape(typeOf(a).getShape());
    Value row = b.reshape(b.conjugate(vector), {shape[0], 1, shape[1]});
    Value product = b.reshape(b.batchedDot(row, a), {shape[0], shape[2]});
    Value scaled = b.multiply(vector, b.broadcast(tau, {shape[0], shape[1]}, {0}));
    return b.subtract(
        a, b.multiply(b.broadcast(scaled, shape, {0, 1}), b.broadcast(product, shape, {0, 2})));
  }

  /// The norm of each vector, without overflow.
  Value norm(Value vector) {
    Value size = magnitude(vector);
    RankedTensorType type = typeOf(size);
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value largest = reduceTo({size}, {b.number(scalar, 0)}, {1}, [&](ValueRange pair) {
                      return SmallVector<Value>{b.binary<stablehlo::MaximumOp>(pair[0], pair[1])};
                    }).front();
    Value isZero = b.compare(largest, EQ, b.number(typeOf(largest), 0));
    Value unit =
        b.broadcast(b.select(isZero, b.number(typeOf(largest), 1), largest), type.getShape(), {0});
    auto square = [&](Value part) {
      Value scaled = b.divide(part, unit);
      return b.multiply(scaled, scaled);
    };
    Value squares =
        isComplex() ? b.add(square(b.real(vector)), square(b.imaginary(vector))) : square(vector);
    Value sum = b.sumOver(squares, 1);
    Value root = stablehlo::SqrtOp::create(b.builder, b.location, sum.getType(), sum, nullptr);
    return b.multiply(largest, root);
  }

  /// The reflector that clears a column below j.
  Reflector reflector(Value column, Value j) {
    const SmallVector<int64_t> shape(typeOf(column).getShape());
    Value isTail = isIndex(shape, 1, GT, j), alpha = elementAt(column, j);
    Value tail = b.select(isTail, column, zeros(shape));
    Value real = isComplex() ? b.real(alpha) : alpha;
    RankedTensorType type = typeOf(real);
    Value isIdle = b.compare(norm(tail), EQ, b.number(type, 0));
    if (isComplex())
      isIdle = b.both(isIdle, b.compare(b.imaginary(alpha), EQ, b.number(type, 0)));
    Value length = norm(b.select(isIndex(shape, 1, GE, j), column, zeros(shape)));
    Value isNegative = b.compare(real, LT, b.number(type, 0));
    Value beta = b.select(isNegative, length, b.negate(length));
    // An idle reflector is the identity; 1 avoids a division by zero.
    Value divisor = b.select(isIdle, b.number(type, 1), beta);
    Value tau = b.divide(b.subtract(beta, real), divisor);
    tau = b.select(isIdle, b.number(type, 0), tau);
    beta = b.select(isIdle, real, beta);
    if (isComplex()) {
      Value imaginary = b.divide(b.negate(b.imaginary(alpha)), divisor);
      tau = b.complex(tau, b.select(isIdle, b.number(type, 0), imaginary));
      beta = b.complex(beta, b.number(type, 0));
    }
    Value scale = b.select(isIdle, b.number(elements({shape[0]}), 1), b.subtract(alpha, beta));
    Value vector = b.divide(tail, b.broadcast(scale, shape, {0}));
    return {put(vector, j, b.number(elements({shape[0]}), 1)), tau, beta};
  }

  Type element;
};

} // namespace

LogicalResult expandFactorization(stablehlo::CustomCallOp op, RewriterBase &rewriter) {
  // JAX puts the name of the platform's library before that of the routine.
  StringRef name = op.getCallTargetName();
  name = name.consume_back("_ffi") ? name.split("solver_").second : name.split('_').second;
  const auto results = llvm::StringSwitch<unsigned>(name)
                           .Case("getrf", 3)
                           .Cases({"geqrf", "potrf"}, 2)
                           .Cases({"orgqr", "lu_pivots_to_permutation"}, 1)
                           .Default(0);
  if (results == 0 || results != op->getNumResults() ||
      op->getNumOperands() != (name == "orgqr" ? 2 : 1))
    return rewriter.notifyMatchFailure(op, "it is not a known factorization");
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (!isStatic(value) || typeOf(value).getNumElements() == 0)
      return rewriter.notifyMatchFailure(op, "a shape is dynamic or empty");
  // JAX writes the dictionary as a discardable attribute.
  auto config = dyn_cast_if_present<DictionaryAttr>(op.getBackendConfigAttr());
  if (!config)
    config = op->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto lower = config ? config.getAs<BoolAttr>("lower") : BoolAttr();
  if (name == "potrf" && !lower)
    return rewriter.notifyMatchFailure(op, "it does not say which triangle is factored");

  Value a = op->getOperand(0);
  Factorization routines(rewriter, op.getLoc(), typeOf(a).getElementType());
  TensorBuilder &b = routines.b;
  stablehlo::CholeskyOp cholesky;
  SmallVector<Value> values;
  if (name == "lu_pivots_to_permutation") {
    const int64_t size = typeOf(op->getResult(0)).getShape().back();
    values = {routines.permutation(routines.flattened(a, 1), size)};
  } else if (name == "potrf") {
    cholesky = stablehlo::CholeskyOp::create(rewriter, op.getLoc(), a.getType(), a, lower);
    Value info = routines.firstOnDiagonal(routines.flattened(cholesky, 2), [&](Value value) {
      return b.compare(value, NE, value); // NaN
    });
    values = {cholesky, info};
  } else if (name == "getrf") {
    auto [lu, pivots] = routines.factorLu(routines.flattened(a, 2));
    Value info = routines.firstOnDiagonal(
        lu, [&](Value value) { return b.compare(value, EQ, b.number(typeOf(value), 0)); });
    values = {lu, pivots, info};
  } else if (name == "geqrf") {
    auto [r, taus] = routines.factorQr(routines.flattened(a, 2));
    values = {r, taus};
  } else {
    values = {routines.productOfReflectors(routines.flattened(a, 2),
                                           routines.flattened(op->getOperand(1), 1))};
  }
  for (auto [value, result] : llvm::zip_equal(values, op->getResults()))
    value = b.reshape(value, typeOf(result).getShape());
  rewriter.replaceOp(op, values);
  if (!cholesky)
    return success();
  rewriter.setInsertionPoint(cholesky);
  return expandCholesky(cholesky, rewriter);
}

} // namespace tilewright::simplify
