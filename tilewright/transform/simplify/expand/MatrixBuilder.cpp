#include "tilewright/transform/simplify/expand/MatrixBuilder.h"

#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

using namespace mlir;

namespace tilewright::simplify {

using enum stablehlo::ComparisonDirection;

FloatType MatrixBuilder::realType() const {
  auto complex = dyn_cast<ComplexType>(element);
  return cast<FloatType>(complex ? complex.getElementType() : element);
}

Value MatrixBuilder::identity(Shape shape) {
  RankedTensorType type = elements(shape);
  return select(isDiagonal(shape), number(type, 1), number(type, 0));
}

Value MatrixBuilder::flattened(Value value, size_t kept) {
  const Shape shape = typeOf(value).getShape();
  SmallVector<int64_t> result = {1};
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (dim < shape.size() - kept)
      result[0] *= size;
    else
      result.push_back(size);
  }
  return reshape(value, result);
}

Value MatrixBuilder::columnAt(Value a, Value j) {
  const Shape shape = typeOf(a).getShape();
  return reshape(dynamicSlice(a, {index(0), index(0), j}, {shape[0], shape[1], 1}),
                 {shape[0], shape[1]});
}

Value MatrixBuilder::rowAt(Value a, Value j) {
  const Shape shape = typeOf(a).getShape();
  return reshape(dynamicSlice(a, {index(0), j, index(0)}, {shape[0], 1, shape[2]}),
                 {shape[0], shape[2]});
}

Value MatrixBuilder::elementAt(Value vector, Value j) {
  const int64_t batch = typeOf(vector).getDimSize(0);
  return reshape(dynamicSlice(vector, {index(0), j}, {batch, 1}), {batch});
}

Value MatrixBuilder::put(Value vector, Value j, Value value) {
  const SmallVector<int64_t> shape(typeOf(vector).getShape());
  return select(isIndex(shape, 1, EQ, j), broadcast(value, shape, {0}), vector);
}

Value MatrixBuilder::diagonalOf(Value a) {
  // The other terms of the sum are zeros, so the sum is exact.
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  return sumOver(select(isDiagonal(shape), a, number(typeOf(a), 0)), shape[1] <= shape[2] ? 2 : 1);
}

Value MatrixBuilder::rowsInOrder(Value a, Value order) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  auto type = typeOf(order);
  Value first = multiply(iota(type, 0), integer(type, static_cast<uint64_t>(shape[1])));
  Value table = reshape(a, {shape[0] * shape[1], shape[2]});
  return gatherRows(table, add(first, order));
}

Value MatrixBuilder::isIndex(Shape shape, int64_t dim, Direction direction, Value number) {
  return compare(iota(numbers(shape), dim), direction, broadcast(number, shape));
}

Value MatrixBuilder::isIndexOfEach(Shape shape, int64_t dim, Value each) {
  return compare(iota(numbers(shape), dim), EQ, broadcast(each, shape, {0}));
}

Value MatrixBuilder::isDiagonal(Shape shape) {
  return compare(iota(numbers(shape), 1), EQ, iota(numbers(shape), 2));
}

Value MatrixBuilder::absolute(Value value) {
  return stablehlo::AbsOp::create(builder, location, value.getType(), value);
}

Value MatrixBuilder::squareRoot(Value value) {
  return stablehlo::SqrtOp::create(builder, location, value.getType(), value, nullptr);
}

Value MatrixBuilder::magnitude(Value value) {
  return isComplex() ? add(absolute(real(value)), absolute(imaginary(value))) : absolute(value);
}

Value MatrixBuilder::comparable(Value sizes) {
  RankedTensorType type = typeOf(sizes);
  Value infinity = number(type, std::numeric_limits<double>::infinity());
  sizes = select(compare(sizes, stablehlo::ComparisonDirection::EQ, sizes), sizes, infinity);
  return bitcast(sizes, builder.getIntegerType(type.getElementTypeBitWidth()));
}

Value MatrixBuilder::squareOf(Value value) {
  auto square = [&](Value part) { return multiply(part, part); };
  return isComplex() ? add(square(real(value)), square(imaginary(value))) : square(value);
}

Value MatrixBuilder::scaled(Value factor, Value value) {
  return isComplex() ? complex(multiply(factor, real(value)), multiply(factor, imaginary(value)))
                     : multiply(factor, value);
}

Value MatrixBuilder::fromReal(Value value) {
  return isComplex() ? complex(value, number(typeOf(value), 0)) : value;
}

Value MatrixBuilder::largestOver(Value value, ArrayRef<int64_t> dims) {
  auto scalar = RankedTensorType::get({}, typeOf(value).getElementType());
  return reduce(value, number(scalar, 0), dims,
                [&](ValueRange pair) {
                  return SmallVector<Value>{binary<stablehlo::MaximumOp>(pair[0], pair[1])};
                })
      .front();
}

Value MatrixBuilder::anyOf(Value mask, ArrayRef<int64_t> dims) {
  auto scalar = RankedTensorType::get({}, builder.getI1Type());
  return reduce(mask, integer(scalar, 0), dims,
                [&](ValueRange pair) { return SmallVector<Value>{either(pair[0], pair[1])}; })
      .front();
}

Value MatrixBuilder::norm(Value value) {
  Value size = magnitude(value);
  const SmallVector<int64_t> shape(typeOf(size).getShape());
  Value largest = largestOver(size, {1});
  Value isZero = compare(largest, EQ, number(typeOf(largest), 0));
  SmallVector<int64_t> kept = {0};
  for (int64_t dim = 2; dim < static_cast<int64_t>(shape.size()); ++dim)
    kept.push_back(dim);
  Value unit = broadcast(select(isZero, number(typeOf(largest), 1), largest), shape, kept);
  auto square = [&](Value part) {
    Value fraction = divide(part, unit);
    return multiply(fraction, fraction);
  };
  Value squares = isComplex() ? add(square(real(value)), square(imaginary(value))) : square(value);
  return multiply(largest, squareRoot(sumOver(squares, 1)));
}

MatrixBuilder::Reflector MatrixBuilder::reflector(Value column, Value j) {
  const SmallVector<int64_t> shape(typeOf(column).getShape());
  Value isTail = isIndex(shape, 1, GT, j), alpha = elementAt(column, j);
  Value tail = select(isTail, column, zeros(shape));
  Value first = realPart(alpha);
  RankedTensorType type = typeOf(first);
  Value isIdle = compare(norm(tail), EQ, number(type, 0));
  if (isComplex())
    isIdle = both(isIdle, compare(imaginary(alpha), EQ, number(type, 0)));
  Value length = norm(select(isIndex(shape, 1, GE, j), column, zeros(shape)));
  Value isNegative = compare(first, LT, number(type, 0));
  Value beta = select(isNegative, length, negate(length));
  // An idle reflector is the identity; 1 avoids a division by zero.
  Value divisor = select(isIdle, number(type, 1), beta);
  Value tau = divide(subtract(beta, first), divisor);
  tau = select(isIdle, number(type, 0), tau);
  beta = select(isIdle, first, beta);
  if (isComplex()) {
    Value part = divide(negate(imaginary(alpha)), divisor);
    tau = complex(tau, select(isIdle, number(type, 0), part));
    beta = complex(beta, number(type, 0));
  }
  Value scale = select(isIdle, number(elements({shape[0]}), 1), subtract(alpha, beta));
  Value vector = divide(tail, broadcast(scale, shape, {0}));
  return {put(vector, j, number(elements({shape[0]}), 1)), tau, beta};
}

Value MatrixBuilder::reflected(Value a, Value vector, Value tau) {
  const SmallVector<int64_t> shape(typeOf(a).getShape());
  Value row = reshape(conjugate(vector), {shape[0], 1, shape[1]});
  Value product = reshape(batchedDot(row, a), {shape[0], shape[2]});
  Value factors = multiply(vector, broadcast(tau, {shape[0], shape[1]}, {0}));
  return subtract(a, multiply(spread(factors, shape, 1), spread(product, shape, 2)));
}

} // namespace tilewright::simplify
