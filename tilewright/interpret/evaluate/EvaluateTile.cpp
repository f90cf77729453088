#include "tilewright/interpret/evaluate/EvaluateTile.h"
#include "tilewright/dialect/tile/SortOps.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/evaluate/TileScalars.h"
#include "tilewright/interpret/kernels/Sort.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace tilewright::interpret {

namespace {

using Index = SmallVector<int64_t, 4>;

/// Advances to the next index of a shape in row-major order.
bool next(Index &index, ArrayRef<int64_t> shape) {
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (++index[dim] < shape[dim])
      return true;
    index[dim] = 0;
  }
  return false;
}

int64_t flat(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t position = 0;
  for (auto [i, size] : llvm::zip_equal(index, shape))
    position = position * size + i;
  return position;
}

ArrayRef<int64_t> shapeOf(Value value) { return cast<ShapedType>(value.getType()).getShape(); }

/// One run of a kernel.
class KernelRun {
public:
  KernelRun(tile::KernelOp kernel, Context &context) : kernel(kernel), context(context) {}

  Result<std::vector<Tensor>> run(const std::vector<Tensor> &inputs);

private:
  Status runBlock(Block &block);
  Status runOp(mlir::Operation &op);

  /// The destination of element `i` of a tile that is written at computed indices; nullopt if it is
  /// out of bounds.
  template <typename Op> std::optional<int64_t> placeOf(Op op, int64_t i);

  Status evaluate(tile::LoadOp op);
  Status evaluate(tile::StoreOp op);
  Status evaluate(tile::ViewOp op);
  Status evaluate(tile::MapOp op);
  Status evaluate(tile::ReduceOp op);
  Status evaluate(tile::ScanOp op);
  Status evaluate(tile::SortOp op);
  Status evaluate(tile::DotOp op);
  Status evaluate(tile::IotaOp op);
  Status evaluate(tile::GatherOp op);
  Status evaluate(tile::ScatterOp op);
  Status evaluate(tile::UpdateOp op);
  Status evaluate(tile::CarryOp op);
  Status evaluate(tile::BucketOp op);
  Status evaluate(tile::TakeOp op);
  Status evaluate(scf::ForOp loop);
  Status evaluate(scf::IfOp branch);
  /// Assigns values simultaneously: reads all before writing any.
  void carry(ValueRange from, ValueRange to);
  Status evaluateScalar(mlir::Operation &op);

  /// Allocates a tile of the value's type; the caller fills it.
  Result<Tensor *> define(Value value);
  Result<const ScalarFunction *> functionOf(Block &block);

  /// The index in a tensor or window of shape `bounds` of an element of a tile; nullopt if it is
  /// out of bounds and the op allows that.
  template <typename Op>
  Result<std::optional<Index>> locate(Op op, ArrayRef<int64_t> bounds, ArrayRef<int64_t> index);
  /// Writes one element of an output.
  Status write(Value output, int64_t at, Scalar element);

  tile::KernelOp kernel;
  Context &context;
  DenseMap<Value, Tensor> tiles; // tiles, and memory
  DenseMap<Value, Scalar> scalars;
  DenseMap<Value, std::vector<uint8_t>> written;
  std::vector<Scalar> carried; // by the kernel's tile.carry, from the points before
  DenseMap<Block *, std::unique_ptr<ScalarFunction>> functions;
  DenseMap<mlir::Operation *, std::unique_ptr<ScalarFunction>> singles;
};

} // namespace

Result<Tensor *> KernelRun::define(Value value) {
  auto type = cast<ShapedType>(value.getType());
  std::optional<ElementType> element = signlessTypeOf(type.getElementType());
  if (!element)
    return Status(Error::interpretOp, "a tile has an unsupported element type");
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(type.getShape()));
  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  TILEWRIGHT_ASSIGN(tiles[value], Tensor::allocate(*element, std::move(shape), context));
  return &tiles[value];
}

Result<const ScalarFunction *> KernelRun::functionOf(Block &block) {
  std::unique_ptr<ScalarFunction> &function = functions[&block];
  if (!function) {
    TILEWRIGHT_ASSIGN(ScalarFunction made, scalarFunctionOf(block));
    function = std::make_unique<ScalarFunction>(std::move(made));
  }
  return function.get();
}

Result<std::vector<Tensor>> KernelRun::run(const std::vector<Tensor> &inputs) {
  if (inputs.size() != kernel.getInputs().size())
    return Status(Code::internal,
                  concat("kernel '", kernel.getSymName().str(), "' takes ",
                         kernel.getInputs().size(), " inputs, got ", inputs.size()));
  for (auto [argument, input] : llvm::zip_equal(kernel.getInputs(), inputs)) {
    auto type = cast<MemRefType>(argument.getType());
    std::optional<ElementType> element = signlessTypeOf(type.getElementType());
    TILEWRIGHT_ASSIGN(Shape shape, Shape::create(type.getShape()));
    if (!element || shape.elementCount() != input.elementCount() ||
        numerics::bitWidth(*element) != numerics::bitWidth(input.type()))
      return Status(Code::internal,
                    concat("kernel '", kernel.getSymName().str(),
                           "' has an input that does not match its parameter: tensor<",
                           input.typeString(), ">"));
    tiles[argument] = input.reinterpreted(*element, std::move(shape));
  }
  for (Value output : kernel.getOutputs()) {
    TILEWRIGHT_ASSIGN(Tensor * memory, define(output));
    written[output].assign(static_cast<size_t>(memory->elementCount()), 0);
  }
  llvm::SmallDenseSet<Value> updated;
  for (size_t i = 0; i + 1 < kernel.getUpdates().value_or(ArrayRef<int64_t>()).size(); i += 2) {
    Value output = kernel.getOutputs()[static_cast<size_t>((*kernel.getUpdates())[i])];
    const Tensor &input =
        tiles[kernel.getInputs()[static_cast<size_t>((*kernel.getUpdates())[i + 1])]];
    for (int64_t k = 0; k < input.elementCount(); ++k)
      tiles[output].set(k, input.at(k));
    updated.insert(output);
  }

  if (kernel.getPointCount() > 0) {
    Index point(kernel.getGrid().size(), 0);
    do {
      for (auto [coordinate, value] : llvm::zip_equal(kernel.getCoordinates(), point))
        scalars[coordinate] = Scalar::ofSigned(value);
      TILEWRIGHT_TRY(runBlock(kernel.getBlock()));
    } while (next(point, kernel.getGrid()));
  }

  std::vector<Tensor> outputs;
  for (Value output : kernel.getOutputs()) {
    if (!updated.contains(output) &&
        !llvm::all_of(written[output], [](uint8_t count) { return count == 1; }))
      return Status(Code::internal, concat("kernel '", kernel.getSymName().str(),
                                           "' does not write all elements of an output"));
    outputs.push_back(std::move(tiles[output]));
  }
  return outputs;
}

Status KernelRun::runBlock(Block &block) {
  for (mlir::Operation &op : block.without_terminator())
    TILEWRIGHT_TRY(runOp(op));
  return Status();
}

void KernelRun::carry(ValueRange from, ValueRange to) {
  std::vector<Tensor> movedTiles(from.size());
  std::vector<Scalar> movedScalars(from.size());
  for (auto [i, value] : llvm::enumerate(from)) {
    if (isa<ShapedType>(value.getType()))
      movedTiles[i] = tiles[value];
    else
      movedScalars[i] = scalars[value];
  }
  for (auto [i, value] : llvm::enumerate(to)) {
    if (isa<ShapedType>(value.getType()))
      tiles[value] = std::move(movedTiles[i]);
    else
      scalars[value] = movedScalars[i];
  }
}

Status KernelRun::evaluate(scf::IfOp branch) {
  Region &taken =
      scalars[branch.getCondition()].u ? branch.getThenRegion() : branch.getElseRegion();
  if (taken.empty())
    return Status();
  TILEWRIGHT_TRY(runBlock(taken.front()));
  carry(taken.front().getTerminator()->getOperands(), branch.getResults());
  return Status();
}

Status KernelRun::evaluate(scf::ForOp loop) {
  const int64_t begin = scalars[loop.getLowerBound()].i, end = scalars[loop.getUpperBound()].i;
  const int64_t step = scalars[loop.getStep()].i;
  if (step <= 0)
    return Status(Error::interpretOp,
                  concat("the step of a kernel's loop must be positive, got ", step));
  carry(loop.getInitArgs(), loop.getRegionIterArgs());
  for (int64_t i = begin; i < end; i += step) {
    TILEWRIGHT_TRY(context.countSteps(1));
    scalars[loop.getInductionVar()] = Scalar::ofSigned(i);
    TILEWRIGHT_TRY(runBlock(*loop.getBody()));
    carry(loop.getBody()->getTerminator()->getOperands(), loop.getRegionIterArgs());
  }
  carry(loop.getRegionIterArgs(), loop.getResults());
  return Status();
}

Status KernelRun::runOp(mlir::Operation &op) {
  return llvm::TypeSwitch<mlir::Operation *, Status>(&op)
      .Case<tile::LoadOp, tile::StoreOp, tile::ViewOp, tile::MapOp, tile::ReduceOp, tile::ScanOp,
            tile::SortOp, tile::DotOp, tile::IotaOp, tile::GatherOp, tile::ScatterOp,
            tile::UpdateOp, tile::CarryOp, tile::BucketOp, tile::TakeOp, scf::ForOp, scf::IfOp>(
          [&](auto op) { return evaluate(op); })
      .Case<affine::AffineApplyOp>([&](affine::AffineApplyOp apply) -> Status {
        Index operands;
        for (Value operand : apply.getMapOperands())
          operands.push_back(scalars[operand].i);
        scalars[apply.getResult()] =
            Scalar::ofSigned(apply.getAffineMap().compose(ArrayRef<int64_t>(operands)).front());
        return Status();
      })
      .Case<mlir::tensor::ExtractOp>([&](mlir::tensor::ExtractOp extract) -> Status {
        if (!extract.getIndices().empty())
          return Status(Error::interpretOp, "tensor.extract is supported only for tiles of rank 0");
        scalars[extract.getResult()] = tiles[extract.getTensor()].at(0);
        return Status();
      })
      .Case<mlir::tensor::FromElementsOp>([&](mlir::tensor::FromElementsOp make) -> Status {
        TILEWRIGHT_ASSIGN(Tensor * tile, define(make.getResult()));
        for (auto [i, element] : llvm::enumerate(make.getElements()))
          tile->set(static_cast<int64_t>(i), scalars[element]);
        return Status();
      })
      .Default([&](mlir::Operation *) { return evaluateScalar(op); });
}

Status KernelRun::evaluateScalar(mlir::Operation &op) {
  std::unique_ptr<ScalarFunction> &function = singles[&op];
  if (!function) {
    TILEWRIGHT_ASSIGN(ScalarFunction made, scalarFunctionOf(op));
    function = std::make_unique<ScalarFunction>(std::move(made));
  }
  SmallVector<Scalar> arguments(op.getNumOperands() + 1);
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    arguments[i] = scalars[operand];
  Scalar result;
  TILEWRIGHT_TRY(ScalarCall(*function)(arguments.data(), &result));
  scalars[op.getResult(0)] = result;
  return Status();
}

//===- Memory -------------------------------------------------------------===//

template <typename Op>
Result<std::optional<Index>> KernelRun::locate(Op op, ArrayRef<int64_t> bounds,
                                               ArrayRef<int64_t> index) {
  Index at;
  for (auto [dim, position] : llvm::enumerate(index)) {
    const int64_t stride = op.getStrides() ? (*op.getStrides())[dim] : 1;
    at.push_back(scalars[op.getOffsets()[dim]].i + position * stride);
    if (at.back() >= 0 && at.back() < bounds[dim])
      continue;
    if (!op.getInBounds() || (*op.getInBounds())[dim])
      return Status(Code::internal,
                    concat("index ", at.back(), " of dimension ", dim,
                           " is out of bounds, but the kernel marks it as in bounds"));
    return std::optional<Index>();
  }
  return std::optional(at);
}

Status KernelRun::evaluate(tile::LoadOp op) {
  TILEWRIGHT_ASSIGN(Tensor * result, define(op.getResult()));
  // Look up after define(), which may rehash the map.
  const Tensor source = tiles[op.getSource()];
  const Scalar padding = op.getPadding() ? scalars[op.getPadding()] : zeroOf(result->type());
  if (result->elementCount() == 0)
    return Status();
  ArrayRef<int64_t> whole = shapeOf(op.getSource());
  Index index(shapeOf(op.getResult()).size(), 0);
  int64_t position = 0;
  do {
    TILEWRIGHT_ASSIGN(std::optional<Index> at, locate(op, whole, index));
    result->set(position++, at ? source.at(flat(*at, whole)) : padding);
  } while (next(index, shapeOf(op.getResult())));
  return Status();
}

Status KernelRun::write(Value output, int64_t at, Scalar element) {
  if (written[output][static_cast<size_t>(at)]++)
    return Status(Code::internal, concat("element ", at, " of an output is written twice"));
  tiles[output].set(at, element);
  return Status();
}

Status KernelRun::evaluate(tile::StoreOp op) {
  const Tensor &source = tiles[op.getTile()];
  if (source.elementCount() == 0)
    return Status();
  ArrayRef<int64_t> whole = shapeOf(op.getTarget());
  Index index(shapeOf(op.getTile()).size(), 0);
  int64_t position = 0;
  do {
    TILEWRIGHT_ASSIGN(std::optional<Index> at, locate(op, op.getBounds(), index));
    for (size_t dim = 0; at && dim < op.getOrigin().size(); ++dim) {
      (*at)[dim] += scalars[op.getOrigin()[dim]].i;
      if ((*at)[dim] < 0 || (*at)[dim] >= whole[dim])
        return Status(Code::internal,
                      concat("the window of a store leaves its target: index ", (*at)[dim],
                             " in dimension ", dim, " of size ", whole[dim]));
    }
    if (at)
      TILEWRIGHT_TRY(write(op.getTarget(), flat(*at, whole), source.at(position)));
    ++position;
  } while (next(index, shapeOf(op.getTile())));
  return Status();
}

Status KernelRun::evaluate(tile::ViewOp op) {
  TILEWRIGHT_ASSIGN(Tensor * result, define(op.getResult()));
  const Tensor source = tiles[op.getSource()];
  if (result->elementCount() == 0)
    return Status();
  Index index(shapeOf(op.getResult()).size(), 0);
  int64_t position = 0;
  do {
    auto at = op.getMap().compose(ArrayRef<int64_t>(index));
    result->set(position++, source.at(flat(at, shapeOf(op.getSource()))));
  } while (next(index, shapeOf(op.getResult())));
  return Status();
}

Status KernelRun::evaluate(tile::GatherOp op) {
  TILEWRIGHT_ASSIGN(Tensor * result, define(op.getResult()));
  ArrayRef<int64_t> whole = shapeOf(op.getSource());
  for (int64_t i = 0; i < result->elementCount(); ++i) {
    Index at;
    for (auto [dim, indices] : llvm::enumerate(op.getIndices())) {
      at.push_back(tiles[indices].at(i).i);
      if (at.back() < 0 || at.back() >= whole[dim])
        return Status(Code::internal,
                      concat("gather index ", at.back(), " is out of bounds for dimension ", dim,
                             " of size ", whole[dim]));
    }
    result->set(i, tiles[op.getSource()].at(flat(at, whole)));
  }
  return Status();
}

template <typename Op> std::optional<int64_t> KernelRun::placeOf(Op op, int64_t i) {
  ArrayRef<int64_t> whole = shapeOf(op.getTarget());
  Index at;
  for (auto [size, indices] : llvm::zip_equal(whole, op.getIndices())) {
    at.push_back(tiles[indices].at(i).i);
    if (at.back() < 0 || at.back() >= size)
      return std::nullopt;
  }
  return flat(at, whole);
}

Status KernelRun::evaluate(tile::ScatterOp op) {
  for (int64_t i = 0; i < tiles[op.getTile()].elementCount(); ++i)
    if (std::optional<int64_t> place = placeOf(op, i))
      TILEWRIGHT_TRY(write(op.getTarget(), *place, tiles[op.getTile()].at(i)));
  return Status();
}

Status KernelRun::evaluate(tile::UpdateOp op) {
  TILEWRIGHT_ASSIGN(const ScalarFunction *function, functionOf(op.getCombiner().front()));
  ScalarCall call(*function);
  for (int64_t i = 0; i < tiles[op.getTile()].elementCount(); ++i) {
    const std::optional<int64_t> place = placeOf(op, i);
    if (!place)
      continue;
    const Scalar arguments[] = {tiles[op.getTarget()].at(*place), tiles[op.getTile()].at(i)};
    Scalar combined;
    TILEWRIGHT_TRY(call(arguments, &combined));
    if (op.getAtomic())
      tiles[op.getTarget()].set(*place, combined);
    else
      TILEWRIGHT_TRY(write(op.getTarget(), *place, combined));
  }
  return Status();
}

Status KernelRun::evaluate(tile::CarryOp op) {
  TILEWRIGHT_ASSIGN(const ScalarFunction *function, functionOf(op.getCombiner().front()));
  TILEWRIGHT_ASSIGN(Tensor * result, define(op.getResult()));
  const int64_t count = result->elementCount();
  // Points run in order, so the value carried from the previous point summarises all earlier
  // points.
  if (scalars[kernel.getCoordinates().back()].i == 0)
    carried.assign(static_cast<size_t>(count), scalars[op.getInit()]);
  ScalarCall call(*function);
  for (int64_t i = 0; i < count; ++i) {
    Scalar &sum = carried[static_cast<size_t>(i)];
    result->set(i, sum);
    const Scalar arguments[] = {sum, tiles[op.getInput()].at(i)};
    TILEWRIGHT_TRY(call(arguments, &sum));
  }
  return Status();
}

Status KernelRun::evaluate(tile::BucketOp op) {
  const Tensor digits = tiles[op.getDigits()];
  const int64_t size = digits.elementCount(), bins = shapeOf(op.getStarts()).back();
  const int64_t count = op.getCount() ? scalars[op.getCount()].i : size;
  if (count < 0 || count > size)
    return Status(Code::internal, concat("buckets of ", size, " elements have count ", count));
  std::vector<int64_t> next(static_cast<size_t>(bins) + 1, 0), places(static_cast<size_t>(size));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t digit = digits.at(i).i;
    if (digit < 0 || digit >= bins)
      return Status(Code::internal, concat("digit ", digit, " has none of the ", bins, " buckets"));
    ++next[static_cast<size_t>(digit) + 1];
  }
  TILEWRIGHT_ASSIGN(Tensor * starts, define(op.getStarts()));
  for (int64_t bin = 0; bin < bins; ++bin) {
    next[static_cast<size_t>(bin) + 1] += next[static_cast<size_t>(bin)];
    starts->set(bin, Scalar::ofSigned(next[static_cast<size_t>(bin)]));
  }
  for (int64_t i = 0; i < size; ++i)
    places[static_cast<size_t>(i)] = i < count ? next[static_cast<size_t>(digits.at(i).i)]++ : i;
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults())) {
    TILEWRIGHT_ASSIGN(Tensor * moved, define(result));
    for (int64_t i = 0; i < size; ++i)
      moved->set(places[static_cast<size_t>(i)], tiles[input].at(i));
  }
  return Status();
}

Status KernelRun::evaluate(tile::TakeOp op) {
  TILEWRIGHT_ASSIGN(Tensor * result, define(op.getResult()));
  const Tensor source = tiles[op.getSource()];
  for (int64_t i = 0; i < result->elementCount(); ++i) {
    const int64_t at = tiles[op.getIndices()].at(i).i;
    if (at < 0 || at >= source.elementCount())
      return Status(Code::internal,
                    concat("index ", at, " is outside of a tile of ", source.elementCount()));
    result->set(i, source.at(at));
  }
  return Status();
}

//===- Computation --------------------------------------------------------===//

Status KernelRun::evaluate(tile::IotaOp op) {
  TILEWRIGHT_ASSIGN(Tensor * result, define(op.getResult()));
  if (result->elementCount() == 0)
    return Status();
  const int64_t offset = scalars[op.getOffset()].i;
  const auto convert = operationFor(ScalarOp::convert, ElementType::i64, result->type());
  Index index(shapeOf(op.getResult()).size(), 0);
  int64_t position = 0;
  do {
    const Scalar value =
        Scalar::ofSigned(offset + index[op.getDim()] * static_cast<int64_t>(op.getStride()));
    result->set(position++, convert(value, value, value));
  } while (next(index, shapeOf(op.getResult())));
  return Status();
}

Status KernelRun::evaluate(tile::MapOp op) {
  TILEWRIGHT_ASSIGN(const ScalarFunction *function, functionOf(op.getBody().front()));
  for (Value result : op.getResults()) {
    TILEWRIGHT_ASSIGN([[maybe_unused]] Tensor * tile, define(result));
  }
  const int64_t count = tiles[op.getResult(0)].elementCount();
  TILEWRIGHT_TRY(context.countSteps(count * function->stepsPerCall()));
  ScalarCall call(*function);
  std::vector<Scalar> arguments(op.getInputs().size() + 1), results(op.getNumResults());
  for (int64_t i = 0; i < count; ++i) {
    for (auto [k, input] : llvm::enumerate(op.getInputs()))
      arguments[k] = tiles[input].at(i);
    TILEWRIGHT_TRY(call(arguments.data(), results.data()));
    for (auto [k, result] : llvm::enumerate(op.getResults()))
      tiles[result].set(i, results[k]);
  }
  return Status();
}

Status KernelRun::evaluate(tile::ReduceOp op) {
  TILEWRIGHT_ASSIGN(const ScalarFunction *function, functionOf(op.getCombiner().front()));
  for (auto [result, init] : llvm::zip_equal(op.getResults(), op.getInits())) {
    TILEWRIGHT_ASSIGN(Tensor * tile, define(result));
    for (int64_t i = 0; i < tile->elementCount(); ++i)
      tile->set(i, scalars[init]);
  }
  const size_t count = op.getInputs().size();
  ArrayRef<int64_t> shape = shapeOf(op.getInputs().front());
  TILEWRIGHT_TRY(
      context.countSteps(tiles[op.getInputs().front()].elementCount() * function->stepsPerCall()));
  if (tiles[op.getInputs().front()].elementCount() == 0)
    return Status();
  ScalarCall call(*function);
  std::vector<Scalar> arguments(2 * count), results(count);
  Index index(shape.size(), 0);
  int64_t position = 0;
  do {
    Index kept;
    for (auto [dim, i] : llvm::enumerate(index))
      if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
        kept.push_back(i);
    const int64_t target = flat(kept, shapeOf(op.getResults().front()));
    for (size_t k = 0; k < count; ++k) {
      arguments[k] = tiles[op.getResult(static_cast<unsigned>(k))].at(target);
      arguments[count + k] = tiles[op.getInputs()[k]].at(position);
    }
    TILEWRIGHT_TRY(call(arguments.data(), results.data()));
    for (size_t k = 0; k < count; ++k)
      tiles[op.getResult(static_cast<unsigned>(k))].set(target, results[k]);
    ++position;
  } while (next(index, shape));
  return Status();
}

Status KernelRun::evaluate(tile::ScanOp op) {
  TILEWRIGHT_ASSIGN(const ScalarFunction *function, functionOf(op.getCombiner().front()));
  for (Value result : op.getResults()) {
    TILEWRIGHT_ASSIGN([[maybe_unused]] Tensor * tile, define(result));
  }
  const size_t count = op.getInputs().size();
  ArrayRef<int64_t> shape = shapeOf(op.getInputs().front());
  if (tiles[op.getInputs().front()].elementCount() == 0)
    return Status();
  ScalarCall call(*function);
  std::vector<Scalar> state(count), arguments(2 * count);
  Index lines(shape);
  lines[op.getDim()] = 1;
  Index index(shape.size(), 0);
  do {
    for (auto [k, init] : llvm::enumerate(op.getInits()))
      state[k] = scalars[init];
    Index at = index;
    for (int64_t step = 0; step < shape[op.getDim()]; ++step) {
      at[op.getDim()] = op.getReverse() ? shape[op.getDim()] - 1 - step : step;
      const int64_t position = flat(at, shape);
      for (size_t k = 0; k < count; ++k) {
        arguments[k] = state[k];
        arguments[count + k] = tiles[op.getInputs()[k]].at(position);
      }
      TILEWRIGHT_TRY(call(arguments.data(), state.data()));
      for (size_t k = 0; k < count; ++k)
        tiles[op.getResult(static_cast<unsigned>(k))].set(position, state[k]);
    }
  } while (next(index, lines));
  return Status();
}

Status KernelRun::evaluate(tile::SortOp op) {
  TILEWRIGHT_ASSIGN(const ScalarFunction *comparator, functionOf(op.getComparator().front()));
  const int64_t size = shapeOf(op.getInputs().front())[op.getDim()];
  const int64_t count = op.getCount() ? scalars[op.getCount()].i : size;
  const int64_t middle = op.getMerge() ? scalars[op.getMerge()].i : 0;
  if (count < 0 || count > size || middle < 0 || middle > count)
    return Status(Code::internal,
                  concat("a sort of ", size, " elements has count ", count, " and merge ", middle));
  std::vector<Tensor> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(tiles[input]);
  TILEWRIGHT_ASSIGN(std::vector<Tensor> sorted,
                    sort(inputs, static_cast<int64_t>(op.getDim()), *comparator, context, count));
  for (auto [result, tensor] : llvm::zip_equal(op.getResults(), sorted))
    tiles[result] = std::move(tensor);
  return Status();
}

/// Rounds to ten mantissa bits, ties away from zero (`tile.dot` allows either direction).
static float roundToTf32(float value) {
  if (!std::isfinite(value))
    return value;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000) & ~uint32_t(0x1FFF));
}

Status KernelRun::evaluate(tile::DotOp op) {
  TILEWRIGHT_ASSIGN(Tensor * defined, define(op.getResult()));
  const Tensor lhs = tiles[op.getLhs()], rhs = tiles[op.getRhs()], acc = tiles[op.getAcc()];
  const ElementType type = acc.type();
  const auto add = operationFor(ScalarOp::add, type),
             multiply = operationFor(ScalarOp::multiply, type);
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  const size_t rank = shape.size();
  const int64_t depth = shapeOf(op.getLhs())[rank - 1];
  TILEWRIGHT_TRY(context.countSteps(defined->elementCount() * depth));
  if (defined->elementCount() == 0)
    return Status();
  // Convert the operands to the accumulator's type and apply block scales once, not per product.
  auto widened = [&](const Tensor &tensor, Value operand, Value scale, size_t dim) {
    const auto widen = operationFor(ScalarOp::convert, tensor.type(), type);
    ArrayRef<int64_t> whole = shapeOf(operand);
    std::vector<Scalar> elements(static_cast<size_t>(tensor.elementCount()));
    Index at(whole.size(), 0);
    for (size_t i = 0; i < elements.size(); ++i, next(at, whole)) {
      const Scalar value = tensor.at(static_cast<int64_t>(i));
      elements[i] = widen(value, value, value);
      if (op.getTf32())
        elements[i] = Scalar::ofReal(roundToTf32(static_cast<float>(elements[i].r)));
      if (!scale)
        continue;
      Index block(at);
      block[dim] = at[dim] / (whole[dim] / shapeOf(scale)[dim]);
      const Scalar factor = tiles[scale].at(flat(block, shapeOf(scale)));
      const Scalar wide =
          operationFor(ScalarOp::convert, tiles[scale].type(), type)(factor, factor, factor);
      elements[i] = multiply(elements[i], wide, wide);
    }
    return elements;
  };
  const std::vector<Scalar> left = widened(lhs, op.getLhs(), op.getLhsScale(), rank - 1);
  const std::vector<Scalar> right = widened(rhs, op.getRhs(), op.getRhsScale(), rank - 2);
  const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  for (int64_t position = 0; position < defined->elementCount(); ++position) {
    const int64_t batch = position / (rows * columns), row = position / columns % rows;
    const int64_t column = position % columns;
    const Scalar *a = left.data() + (batch * rows + row) * depth;
    const Scalar *b = right.data() + batch * depth * columns + column;
    Scalar sum = acc.at(position);
    if (type == ElementType::f32)
      // Same as the generic loop below, but inlined for speed.
      for (int64_t k = 0; k < depth; ++k)
        sum.r = static_cast<float>(sum.r + static_cast<float>(a[k].r * b[k * columns].r));
    else
      for (int64_t k = 0; k < depth; ++k)
        sum = add(sum, multiply(a[k], b[k * columns], a[k]), a[k]);
    defined->set(position, sum);
  }
  return Status();
}

//===- Entry points -------------------------------------------------------===//

Result<std::vector<Tensor>> evaluateKernel(tile::KernelOp kernel, const std::vector<Tensor> &inputs,
                                           Context &context) {
  return KernelRun(kernel, context).run(inputs);
}

static Status evaluateLaunch(exec::LaunchOp op, OpCall &call) {
  auto kernel = call.evaluation.program.symbols.lookup<tile::KernelOp>(op.getKernel());
  if (!kernel)
    return Status(Error::interpretOp,
                  concat("'", op.getKernel().str(), "' is not a kernel of the module"));
  TILEWRIGHT_ASSIGN(std::vector<Tensor> outputs,
                    evaluateKernel(kernel, call.tensors(), call.context()));
  if (outputs.size() != op.getNumResults())
    return Status(Code::internal,
                  concat("the kernel has ", outputs.size(), " outputs, but the launch has ",
                         op.getNumResults(), " results"));
  for (size_t i = 0; i < outputs.size(); ++i) {
    TILEWRIGHT_ASSIGN(Shape shape, call.resultShape(i));
    if (shape.elementCount() != outputs[i].elementCount())
      return Status(Code::internal,
                    concat("output ", i, " of the kernel must have ", shape.elementCount(),
                           " elements, got tensor<", outputs[i].typeString(), ">"));
    call.results.emplace_back(
        outputs[i].reinterpreted(call.resultElementType(i), std::move(shape)));
  }
  return Status();
}

void addTileHandlers(HandlerTable &table) {
  add<exec::LaunchOp, evaluateLaunch>(table);
  add<exec::FusionOp>(table, [](exec::FusionOp op, OpCall &call) {
    return call.give(call.run(op.getBody(), std::move(call.operands)));
  });
}

/// A copy of the kernel without the layouts of its tiles.
static OwningOpRef<tile::KernelOp> withoutLayouts(sm::KernelOp kernel) {
  OpBuilder builder(kernel.getContext());
  OwningOpRef<tile::KernelOp> plain =
      tile::KernelOp::create(builder, kernel.getLoc(), kernel.getSymName(), kernel.getGrid(),
                             static_cast<int64_t>(kernel.getNumInputs()), kernel.getUpdatesAttr());
  IRMapping mapping;
  kernel.getBody().cloneInto(&plain->getBody(), mapping);
  auto drop = [](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      value.setType(RankedTensorType::get(type.getShape(), type.getElementType()));
  };
  SmallVector<sm::ConvertOp> conversions;
  plain->getBody().walk([&](mlir::Operation *op) {
    for (Value result : op->getResults())
      drop(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          drop(argument);
    if (auto convert = dyn_cast<sm::ConvertOp>(op))
      conversions.push_back(convert);
  });
  for (sm::ConvertOp convert : conversions) {
    Value source = convert.getSource();
    if (AffineMapAttr map = convert.getMapAttr()) {
      builder.setInsertionPoint(convert);
      source = tile::ViewOp::create(builder, convert.getLoc(), convert.getType(), source, map);
    }
    convert.getResult().replaceAllUsesWith(source);
    convert.erase();
  }
  return plain;
}

Result<std::vector<Tensor>> evaluateKernel(sm::KernelOp kernel, const std::vector<Tensor> &inputs,
                                           Context &context) {
  OwningOpRef<tile::KernelOp> plain = withoutLayouts(kernel);
  return evaluateKernel(*plain, inputs, context);
}

} // namespace tilewright::interpret
