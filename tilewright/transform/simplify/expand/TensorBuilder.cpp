#include "tilewright/transform/simplify/expand/TensorBuilder.h"

#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::simplify {

Value TensorBuilder::integer(RankedTensorType type, uint64_t bits) {
  const unsigned width = type.getElementType().getIntOrFloatBitWidth();
  const APInt value = APInt(64, bits).zextOrTrunc(width);
  return makeSplat(builder, location, type, IntegerAttr::get(type.getElementType(), value));
}

Value TensorBuilder::divide(Value lhs, Value rhs) {
  if (!isa<ComplexType>(typeOf(lhs).getElementType()))
    return binary<stablehlo::DivideOp>(lhs, rhs);
  // lhs * conj(rhs) / |rhs|², where rhs is scaled such that its square does not overflow.
  auto size = [&](Value part) -> Value {
    return stablehlo::AbsOp::create(builder, location, part.getType(), part);
  };
  Value re = real(rhs), im = imaginary(rhs);
  Value scale = binary<stablehlo::MaximumOp>(size(re), size(im));
  re = binary<stablehlo::DivideOp>(re, scale);
  im = binary<stablehlo::DivideOp>(im, scale);
  Value square = multiply(add(multiply(re, re), multiply(im, im)), scale);
  Value product = multiply(lhs, complex(re, negate(im)));
  return complex(binary<stablehlo::DivideOp>(real(product), square),
                 binary<stablehlo::DivideOp>(imaginary(product), square));
}

Value TensorBuilder::compare(Value lhs, stablehlo::ComparisonDirection direction, int64_t rhs) {
  return compare(lhs, direction, integer(typeOf(lhs), static_cast<uint64_t>(rhs)));
}

Value TensorBuilder::bitcast(Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return value;
  return stablehlo::BitcastConvertOp::create(builder, location, typeOf(value).clone(element),
                                             value);
}

Value TensorBuilder::real(Value value) {
  auto type = cast<ComplexType>(typeOf(value).getElementType());
  return stablehlo::RealOp::create(builder, location, typeOf(value).clone(type.getElementType()),
                                   value);
}

Value TensorBuilder::imaginary(Value value) {
  auto type = cast<ComplexType>(typeOf(value).getElementType());
  return stablehlo::ImagOp::create(builder, location, typeOf(value).clone(type.getElementType()),
                                   value);
}

Value TensorBuilder::complex(Value real, Value imaginary) {
  RankedTensorType type = typeOf(real);
  return stablehlo::ComplexOp::create(
      builder, location, type.clone(ComplexType::get(type.getElementType())), real, imaginary);
}

Value TensorBuilder::negate(Value value) {
  return stablehlo::NegateOp::create(builder, location, value.getType(), value);
}

Value TensorBuilder::conjugate(Value value) {
  if (!isa<ComplexType>(typeOf(value).getElementType()))
    return value;
  return complex(real(value), negate(imaginary(value)));
}

Value TensorBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return value;
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(static_cast<unsigned>(dim)));
  return stablehlo::TransposeOp::create(
      builder, location, RankedTensorType::get(shape, type.getElementType()), value, permutation);
}

Value TensorBuilder::reverse(Value value, int64_t dim) {
  return stablehlo::ReverseOp::create(builder, location, value.getType(), value,
                                      ArrayRef<int64_t>{dim});
}

static Value makeDot(TensorBuilder &b, Value lhs, Value rhs, ArrayRef<int64_t> batch,
                     ArrayRef<int64_t> shape) {
  MLIRContext *context = b.builder.getContext();
  auto numbers = stablehlo::DotDimensionNumbersAttr::get(
      context, batch, batch, {typeOf(lhs).getRank() - 1}, {static_cast<int64_t>(batch.size())});
  auto highest = stablehlo::PrecisionAttr::get(context, stablehlo::Precision::HIGHEST);
  return stablehlo::DotGeneralOp::create(
      b.builder, b.location, RankedTensorType::get(shape, typeOf(lhs).getElementType()), lhs, rhs,
      numbers, b.builder.getArrayAttr({highest, highest}), nullptr);
}

Value TensorBuilder::dot(Value lhs, Value rhs) {
  SmallVector<int64_t> shape(typeOf(lhs).getShape().drop_back());
  llvm::append_range(shape, typeOf(rhs).getShape().drop_front());
  return makeDot(*this, lhs, rhs, {}, shape);
}

Value TensorBuilder::batchedDot(Value lhs, Value rhs) {
  SmallVector<int64_t> shape(typeOf(lhs).getShape().drop_back());
  llvm::append_range(shape, typeOf(rhs).getShape().drop_front(2));
  return makeDot(*this, lhs, rhs, {0}, shape);
}

Value TensorBuilder::sumOver(Value value, int64_t dim) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  auto reduce = stablehlo::ReduceOp::create(
      builder, location, TypeRange{RankedTensorType::get(shape, type.getElementType())},
      ValueRange{value}, ValueRange{number(scalar, 0)}, ArrayRef<int64_t>{dim});
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&reduce.getBody(), {}, {scalar, scalar}, {location, location});
  Value sum = add(body->getArgument(0), body->getArgument(1));
  stablehlo::ReturnOp::create(builder, location, sum);
  return reduce.getResult(0);
}

/// Whether an op is the identity on scalars.
static bool isScalarIdentity(Operation &op) {
  return isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp, stablehlo::OptimizationBarrierOp>(
      op);
}

Value TensorBuilder::gatherRows(Value table, Value indices) {
  SmallVector<int64_t> shape(typeOf(indices).getShape()), row(typeOf(table).getShape()), offsets;
  const int64_t vectorDim = typeOf(indices).getRank();
  row[0] = 1;
  for (int64_t size : ArrayRef(row).drop_front()) {
    offsets.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size);
  }
  auto numbers = stablehlo::GatherDimensionNumbersAttr::get(
      builder.getContext(), offsets, /*collapsed_slice_dims=*/{0}, /*operand_batching_dims=*/{},
      /*start_indices_batching_dims=*/{}, /*start_index_map=*/{0}, vectorDim);
  auto type = RankedTensorType::get(shape, typeOf(table).getElementType());
  return stablehlo::GatherOp::create(builder, location, type, table, indices, numbers, row);
}

/// Fills the region of an op whose arguments are scalars of the given types.
static void fill(OpBuilder &builder, Location location, Region &region, ArrayRef<Type> types,
                 TensorBuilder::Body body) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&region);
  for (Type type : types)
    block->addArgument(RankedTensorType::get({}, type), location);
  stablehlo::ReturnOp::create(builder, location, body(block->getArguments()));
}

SmallVector<Value> TensorBuilder::reduce(ValueRange values, ValueRange inits,
                                         ArrayRef<int64_t> dims, Body body) {
  SmallVector<Type> types, scalars;
  for (Value value : values) {
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(typeOf(value).getShape()))
      if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
        shape.push_back(size);
    scalars.push_back(typeOf(value).getElementType());
    types.push_back(RankedTensorType::get(shape, scalars.back()));
  }
  llvm::append_range(scalars, SmallVector<Type>(scalars));
  auto op = stablehlo::ReduceOp::create(builder, location, types, values, inits, dims);
  fill(builder, location, op.getBody(), scalars, body);
  return SmallVector<Value>(op.getResults());
}

SmallVector<Value> TensorBuilder::sort(ValueRange values, int64_t dim, Body body) {
  SmallVector<Type> scalars;
  for (Value value : values)
    scalars.append(2, typeOf(value).getElementType());
  auto op = stablehlo::SortOp::create(builder, location, values.getTypes(), values,
                                      static_cast<uint64_t>(dim), /*is_stable=*/true);
  fill(builder, location, op.getComparator(), scalars, body);
  return SmallVector<Value>(op.getResults());
}

std::string whyNotElementwise(Region &body) {
  if (!body.hasOneBlock())
    return "the body has several blocks";
  auto isScalar = [](Value value) {
    RankedTensorType type = typeOf(value);
    return type && type.getRank() == 0 &&
           isa<IntegerType, FloatType, ComplexType>(type.getElementType());
  };
  for (Operation &op : body.front()) {
    const bool scalars = llvm::all_of(op.getOperands(), isScalar);
    const bool known = isa<stablehlo::ConstantOp, stablehlo::SelectOp, stablehlo::ClampOp>(op) ||
                       op.hasTrait<OpTrait::Elementwise>() ||
                       op.hasTrait<OpTrait::IsTerminator>() || isScalarIdentity(op);
    if (!scalars || !known || op.getNumRegions() != 0)
      return ("the body has '" + op.getName().getStringRef() +
              "', which is not an elementwise op on scalars")
          .str();
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op); constant && !splatOf(constant))
      return "the body has a constant that cannot be read";
  }
  return {};
}

SmallVector<Value> TensorBuilder::apply(Region &body, ValueRange arguments) {
  const Shape shape = typeOf(arguments[0]).getShape();
  auto spread = [&](Type scalar) {
    return RankedTensorType::get(shape, cast<RankedTensorType>(scalar).getElementType());
  };
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  // A scalar from outside of the body is the same for all elements.
  auto mapCaptured = [&](Operation &op) {
    for (Value operand : op.getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, broadcast(operand, shape));
  };
  for (Operation &op : body.front().without_terminator()) {
    mapCaptured(op);
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      mapping.map(constant.getResult(),
                  makeSplat(builder, location, spread(constant.getType()), splatOf(constant)));
      continue;
    }
    if (isScalarIdentity(op)) {
      for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults()))
        mapping.map(result, mapping.lookup(operand));
      continue;
    }
    for (Value result : builder.clone(op, mapping)->getResults())
      result.setType(spread(result.getType()));
  }
  Operation *last = body.front().getTerminator();
  mapCaptured(*last);
  return llvm::map_to_vector(last->getOperands(),
                             [&](Value value) -> Value { return mapping.lookup(value); });
}

SmallVector<Value> TensorBuilder::loop(int64_t count, ValueRange state, Iteration iteration) {
  return loop(
      [&](Value number, ValueRange) {
        return compare(number, stablehlo::ComparisonDirection::LT, count);
      },
      state, iteration);
}

SmallVector<Value> TensorBuilder::loop(Value count, ValueRange state, Iteration iteration) {
  return loop(
      [&](Value number, ValueRange) {
        return compare(number, stablehlo::ComparisonDirection::LT, count);
      },
      state, iteration);
}

SmallVector<Value> TensorBuilder::loopWhile(int64_t maxCount, ValueRange state,
                                            Iteration iteration) {
  return loop(
      [&](Value number, ValueRange state) {
        return both(compare(number, stablehlo::ComparisonDirection::LT, maxCount), state[0]);
      },
      state, iteration);
}

SmallVector<Value> TensorBuilder::loop(llvm::function_ref<Value(Value, ValueRange)> hasMore,
                                       ValueRange state, Iteration iteration) {
  auto index = RankedTensorType::get({}, builder.getI32Type());
  SmallVector<Value> operands = {integer(index, 0)};
  llvm::append_range(operands, state);
  SmallVector<Type> types = llvm::map_to_vector(operands, [](Value v) { return v.getType(); });
  SmallVector<Location> locations(types.size(), location);
  auto loop = stablehlo::WhileOp::create(builder, location, types, operands);
  OpBuilder::InsertionGuard guard(builder);
  Block *condition = builder.createBlock(&loop.getCond(), {}, types, locations);
  Value more =
      hasMore(condition->getArgument(0), ValueRange(condition->getArguments()).drop_front());
  stablehlo::ReturnOp::create(builder, location, more);
  Block *body = builder.createBlock(&loop.getBody(), {}, types, locations);
  Value number = body->getArgument(0);
  SmallVector<Value> next = iteration(number, ValueRange(body->getArguments()).drop_front());
  next.insert(next.begin(), add(number, integer(index, 1)));
  stablehlo::ReturnOp::create(builder, location, next);
  return SmallVector<Value>(loop.getResults().drop_front());
}

} // namespace tilewright::simplify
