// The ops that execute the exchanges of a reshard.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/distribute/reshard/Reshard.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::distribute {
namespace {

using numerics::AxisRef;
using numerics::MeshCoordinates;

/// The axes that remain after removing the leading axes `prefix`, which may end inside of an axis.
Axes restOf(const Axes &axes, const Axes &prefix) {
  Axes rest;
  int64_t covered = countOf(prefix);
  for (const AxisRef &axis : axes) {
    const int64_t part = std::min(covered, axis.size);
    append(rest, {axis.axis, axis.preSize * part, axis.size / part});
    covered /= part;
  }
  return rest;
}

/// The axes that leave each dimension, and those that enter it.
struct Change {
  std::vector<Axes> lost, gained;

  explicit Change(const Exchange &exchange) {
    for (size_t dim = 0; dim < exchange.from.dims.size(); ++dim) {
      const Axes &before = exchange.from.dims[dim], &after = exchange.to.dims[dim];
      const bool grows = countOf(after) > countOf(before);
      lost.push_back(grows ? Axes() : restOf(before, after));
      gained.push_back(grows ? restOf(after, before) : Axes());
    }
  }
};

Axes joined(const std::vector<Axes> &lists) {
  Axes all;
  for (const Axes &list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// The only dimension that has axes; nullopt if there are several.
std::optional<size_t> onlyOf(const std::vector<Axes> &lists) {
  std::optional<size_t> only;
  for (size_t dim = 0; dim < lists.size(); ++dim)
    if (!lists[dim].empty()) {
      if (only)
        return std::nullopt;
      only = dim;
    }
  return only;
}

/// Splits `axes` wherever an axis of `others` begins or ends.
Axes dividedAt(const Axes &axes, const Axes &others) {
  Axes factors;
  for (const AxisRef &axis : axes) {
    std::vector<int64_t> cuts = {axis.preSize * axis.size};
    for (const AxisRef &other : others)
      if (other.axis == axis.axis)
        cuts.insert(cuts.end(), {other.preSize, other.preSize * other.size});
    llvm::sort(cuts);
    int64_t at = axis.preSize;
    for (int64_t cut : cuts)
      if (cut > at && cut <= axis.preSize * axis.size) {
        factors.push_back({axis.axis, at, cut / at});
        at = cut;
      }
  }
  return factors;
}

} // namespace

DenseElementsAttr neutralOf(RankedTensorType type, StringRef combine) {
  Type element = type.getElementType();
  auto real = [&](const llvm::fltSemantics &kind) {
    if (combine == "stablehlo.multiply")
      return llvm::APFloat(kind, 1);
    if (combine == "stablehlo.maximum" || combine == "stablehlo.minimum") {
      const bool isNegative = combine == "stablehlo.maximum";
      return llvm::APFloatBase::semanticsHasInf(kind) ? llvm::APFloat::getInf(kind, isNegative)
                                                      : llvm::APFloat::getLargest(kind, isNegative);
    }
    if (!llvm::APFloatBase::semanticsHasZero(kind))
      return llvm::APFloat(kind, 1);
    // Adding -0 changes nothing; adding 0 turns -0 into 0.
    return llvm::APFloat::getZero(kind, /*Negative=*/true);
  };
  if (auto complex = dyn_cast<ComplexType>(element)) {
    const llvm::fltSemantics &kind = cast<FloatType>(complex.getElementType()).getFloatSemantics();
    const llvm::APFloat imaginary =
        combine == "stablehlo.multiply" ? llvm::APFloat::getZero(kind) : real(kind);
    return DenseElementsAttr::get(type, std::complex<llvm::APFloat>(real(kind), imaginary));
  }
  if (auto kind = dyn_cast<FloatType>(element))
    return DenseElementsAttr::get(type, real(kind.getFloatSemantics()));
  const unsigned width = element.getIntOrFloatBitWidth();
  const bool isSigned = !element.isUnsignedInteger() && width > 1;
  llvm::APInt value(width, 0);
  if (combine == "stablehlo.multiply")
    value = llvm::APInt(width, 1);
  else if (combine == "stablehlo.maximum")
    value = isSigned ? llvm::APInt::getSignedMinValue(width) : llvm::APInt(width, 0);
  else if (combine == "stablehlo.minimum")
    value = isSigned ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width);
  else if (combine == "stablehlo.and")
    value = llvm::APInt::getAllOnes(width);
  return DenseElementsAttr::get(type, value);
}

/// Emits exchanges at one position of a program. `shape` is the tensor's global shape.
class ExchangeEmitter {
public:
  ExchangeEmitter(ShardBuilder &shards, OpBuilder &builder, Location location,
                  ArrayRef<int64_t> shape)
      : shards(shards), builder(builder), location(location), shape(shape) {}

  Value emit(const Exchange &exchange, Value shard) {
    switch (exchange.kind) {
    case ExchangeKind::slice:
      return slice(exchange, shard);
    case ExchangeKind::open:
      return open(exchange, shard);
    case ExchangeKind::permute:
      return permute(exchange, shard);
    case ExchangeKind::allToAll:
      return fit(allToAll(exchange, pad(shard, exchange.from, exchange.to)), exchange.to);
    case ExchangeKind::allGather:
      return fit(allGather(exchange, shard), exchange.to);
    case ExchangeKind::reduceScatter:
      return reduceScatter(exchange, pad(shard, exchange.from, exchange.to));
    case ExchangeKind::allReduce:
      return shards.allReduce(builder, location, shard, *exchange.from.mesh, ordered(exchange.axes),
                              exchange.from.combine);
    }
    return shard;
  }

private:
  Value reshape(Value value, ArrayRef<int64_t> sizes) {
    return typeOf(value).getShape() == sizes
               ? value
               : stablehlo::ReshapeOp::create(builder, location, typeOf(value).clone(sizes), value);
  }
  Value transpose(Value value, ArrayRef<int64_t> order) {
    if (llvm::is_sorted(order))
      return value;
    SmallVector<int64_t> sizes;
    for (int64_t dim : order)
      sizes.push_back(typeOf(value).getDimSize(static_cast<unsigned>(dim)));
    return stablehlo::TransposeOp::create(builder, location, typeOf(value).clone(sizes), value,
                                          builder.getDenseI64ArrayAttr(order));
  }

  /// Pads dimensions that `from` does not shard, for the shards of `to`.
  Value pad(Value shard, const Sharding &from, const Sharding &to) {
    SmallVector<int64_t> high, none(shape.size(), 0), sizes(typeOf(shard).getShape());
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      high.push_back(from.count(dim) == 1 ? to.padded(dim, shape[dim]) - shape[dim] : 0);
      sizes[dim] += high.back();
    }
    if (high == none)
      return shard;
    RankedTensorType type = typeOf(shard);
    Value zero = stablehlo::ConstantOp::create(
        builder, location, neutralOf(RankedTensorType::get({}, type.getElementType()), ""));
    return stablehlo::PadOp::create(
        builder, location, type.clone(sizes), shard, zero, builder.getDenseI64ArrayAttr(none),
        builder.getDenseI64ArrayAttr(high), builder.getDenseI64ArrayAttr(none));
  }

  /// Removes the padding from dimensions that `to` does not shard.
  Value fit(Value shard, const Sharding &to) {
    SmallVector<int64_t> sizes(typeOf(shard).getShape());
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (to.count(dim) == 1)
        sizes[dim] = shape[dim];
    if (typeOf(shard).getShape() == ArrayRef(sizes))
      return shard;
    const SmallVector<int64_t> starts(sizes.size(), 0), strides(sizes.size(), 1);
    return stablehlo::SliceOp::create(
        builder, location, typeOf(shard).clone(sizes), shard, builder.getDenseI64ArrayAttr(starts),
        builder.getDenseI64ArrayAttr(sizes), builder.getDenseI64ArrayAttr(strides));
  }

  /// The offset of this device's part in each dimension, if `axes` divide it into parts of `sizes`.
  SmallVector<Value> offsets(const Sharding &sharding, const std::vector<Axes> &axes,
                             ArrayRef<int64_t> sizes) {
    SmallVector<Value> starts;
    const Sharding parts{sharding.mesh, axes, {}};
    int64_t rows = 0; // all start indices of a slice have the same type
    for (size_t dim = 0; dim < axes.size(); ++dim)
      rows = std::max(rows, sizes[dim] * countOf(axes[dim]));
    for (size_t dim = 0; dim < axes.size(); ++dim)
      starts.push_back(
          shards.shardOffset(builder, location, parts, dim, sizes[dim], positionWidth(rows)));
    return starts;
  }

  Value slice(const Exchange &exchange, Value shard) {
    const Change change(exchange);
    RankedTensorType type = typeOf(shard);
    SmallVector<int64_t> sizes(type.getShape());
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (exchange.from.count(dim) == 1)
        sizes[dim] = exchange.to.padded(dim, shape[dim]);
    for (auto [size, axes] : llvm::zip_equal(sizes, change.gained))
      size /= countOf(axes);
    if (DenseElementsAttr constant;
        matchPattern(shard, m_Constant(&constant)) && constant.isSplat())
      return stablehlo::ConstantOp::create(builder, location,
                                           constant.resizeSplat(type.clone(sizes)));
    shard = pad(shard, exchange.from, exchange.to);
    return stablehlo::DynamicSliceOp::create(builder, location, type.clone(sizes), shard,
                                             offsets(exchange.from, change.gained, sizes),
                                             builder.getDenseI64ArrayAttr(sizes));
  }

  Value open(const Exchange &exchange, Value shard) {
    const Change change(exchange);
    const Axes lost = joined(change.lost);
    if (!lost.empty()) {
      // Places the shard at its position, surrounded by neutral elements.
      RankedTensorType type = typeOf(shard);
      SmallVector<int64_t> sizes(type.getShape());
      const SmallVector<int64_t> parts = sizes;
      for (auto [size, axes] : llvm::zip_equal(sizes, change.lost))
        size *= countOf(axes);
      Value whole = stablehlo::ConstantOp::create(
          builder, location, neutralOf(type.clone(sizes), exchange.to.combine));
      whole =
          stablehlo::DynamicUpdateSliceOp::create(builder, location, whole.getType(), whole, shard,
                                                  offsets(exchange.from, change.lost, parts));
      shard = fit(whole, exchange.to);
    }
    // If the value was replicated along an axis, the first device along the axis keeps it.
    const Axes sharded = dividedAt(lost, exchange.axes);
    Axes copies;
    for (const AxisRef &axis : dividedAt(exchange.axes, lost))
      if (!llvm::is_contained(sharded, axis))
        copies.push_back(axis);
    if (copies.empty())
      return shard;
    RankedTensorType type = typeOf(shard);
    const Sharding along{exchange.from.mesh, {copies}, {}};
    Value coordinate = shards.shardOffset(builder, location, along, 0, 1);
    auto scalar = RankedTensorType::get({}, builder.getI32Type());
    Value first = stablehlo::ConstantOp::create(
        builder, location, DenseElementsAttr::get(scalar, ArrayRef<int32_t>{0}));
    Value isFirst = stablehlo::CompareOp::create(
        builder, location, scalar.clone(builder.getI1Type()), coordinate, first,
        stablehlo::ComparisonDirection::EQ, stablehlo::ComparisonTypeAttr());
    Value neutral =
        stablehlo::ConstantOp::create(builder, location, neutralOf(type, exchange.to.combine));
    return stablehlo::SelectOp::create(builder, location, type, isFirst, shard, neutral);
  }

  /// Several devices may hold the same shard before the exchange: they share the devices that want
  /// it. A device that already has the right shard keeps its own.
  Value permute(const Exchange &exchange, Value shard) {
    const MeshCoordinates &mesh = *exchange.from.mesh;
    const Axes before = joined(exchange.from.dims), after = joined(exchange.to.dims);
    auto keyOf = [&](const Axes &axes, const Sharding &sharding, int64_t device) {
      return mesh.along(axes, device) * countOf(sharding.unreduced) +
             mesh.along(sharding.unreduced, device);
    };
    llvm::DenseMap<int64_t, SmallVector<int64_t>> sources, targets;
    SmallVector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t device = 0; device < mesh.ranks(); ++device) {
      const int64_t has = keyOf(before, exchange.from, device),
                    wants = keyOf(after, exchange.to, device);
      if (has == wants) {
        pairs.push_back({device, device});
        continue;
      }
      sources[has].push_back(device);
      targets[wants].push_back(device);
    }
    for (const auto &[key, from] : sources)
      for (auto [source, target] : llvm::zip_equal(from, targets[key]))
        pairs.push_back({source, target});
    llvm::sort(pairs);
    return shards.permute(builder, location, shard, pairs);
  }

  /// [n, local…], where n runs over the axes in `lists`, to a tensor in which each dimension has
  /// its axes outermost.
  Value interleave(Value value, const std::vector<Axes> &lists) {
    SmallVector<int64_t> digits, order, merged;
    const int64_t count = static_cast<int64_t>(joined(lists).size());
    for (const AxisRef &axis : joined(lists))
      digits.push_back(axis.size);
    int64_t next = 0;
    for (auto [dim, list] : llvm::enumerate(lists)) {
      const int64_t local = typeOf(value).getDimSize(static_cast<unsigned>(dim + 1));
      for (size_t i = 0; i < list.size(); ++i)
        order.push_back(next++);
      order.push_back(count + static_cast<int64_t>(dim));
      merged.push_back(countOf(list) * local);
    }
    for (int64_t local : typeOf(value).getShape().drop_front())
      digits.push_back(local);
    return reshape(transpose(reshape(value, digits), order), merged);
  }

  /// The reverse of interleave(), with the axes of n in another order.
  Value deal(Value value, const std::vector<Axes> &lists, const Axes &inOrder) {
    SmallVector<int64_t> digits, order(inOrder.size()), merged = {countOf(inOrder)};
    for (auto [dim, list] : llvm::enumerate(lists)) {
      for (const AxisRef &axis : list) {
        order[static_cast<size_t>(llvm::find(inOrder, axis) - inOrder.begin())] =
            static_cast<int64_t>(digits.size());
        digits.push_back(axis.size);
      }
      order.push_back(static_cast<int64_t>(digits.size()));
      digits.push_back(typeOf(value).getDimSize(static_cast<unsigned>(dim)) / countOf(list));
      merged.push_back(digits.back());
    }
    return reshape(transpose(reshape(value, digits), order), merged);
  }

  Value allGather(const Exchange &exchange, Value shard) {
    const Change change(exchange);
    const std::optional<size_t> only = onlyOf(change.lost);
    SmallVector<int64_t> sizes(typeOf(shard).getShape());
    if (!only) {
      sizes.insert(sizes.begin(), 1);
      shard = reshape(shard, sizes);
    }
    const Axes axes = joined(change.lost);
    const size_t dim = only.value_or(0);
    sizes[dim] *= countOf(axes);
    shard = stablehlo::AllGatherOp::create(
                builder, location, TypeRange(Type(typeOf(shard).clone(sizes))), ValueRange(shard),
                builder.getI64IntegerAttr(static_cast<int64_t>(dim)),
                shards.groupsAlong(builder, *exchange.from.mesh, axes), shards.newChannel(builder),
                builder.getUnitAttr())
                ->getResult(0);
    return only ? shard : interleave(shard, change.lost);
  }

  Value allToAll(const Exchange &exchange, Value shard) {
    Change change(exchange);
    const Axes leaving = joined(change.lost), entering = joined(change.gained);
    std::optional<size_t> split = onlyOf(change.gained), concat = onlyOf(change.lost);
    const bool isPlain = split && concat && leaving == entering;
    Axes axes = leaving;
    if (!isPlain) {
      for (Axes &list : change.lost)
        list = dividedAt(list, entering);
      for (Axes &list : change.gained)
        list = dividedAt(list, leaving);
      axes = joined(change.lost);
      shard = deal(shard, change.gained, axes);
      split = concat = 0;
    }
    SmallVector<int64_t> sizes(typeOf(shard).getShape());
    sizes[*split] /= countOf(axes);
    sizes[*concat] *= countOf(axes);
    shard = stablehlo::AllToAllOp::create(
                builder, location, TypeRange(Type(typeOf(shard).clone(sizes))), ValueRange(shard),
                builder.getI64IntegerAttr(static_cast<int64_t>(*split)),
                builder.getI64IntegerAttr(static_cast<int64_t>(*concat)),
                builder.getI64IntegerAttr(countOf(axes)),
                shards.groupsAlong(builder, *exchange.from.mesh, axes), shards.newChannel(builder))
                ->getResult(0);
    return isPlain ? shard : interleave(shard, change.lost);
  }

  Value reduceScatter(const Exchange &exchange, Value shard) {
    const Change change(exchange);
    const std::optional<size_t> only = onlyOf(change.gained);
    const Axes axes = joined(change.gained);
    if (!only)
      shard = deal(shard, change.gained, axes);
    SmallVector<int64_t> sizes(typeOf(shard).getShape());
    const size_t dim = only.value_or(0);
    sizes[dim] /= countOf(axes);
    auto scatter =
        stablehlo::ReduceScatterOp::create(builder, location, typeOf(shard).clone(sizes), shard,
                                           builder.getI64IntegerAttr(static_cast<int64_t>(dim)),
                                           shards.groupsAlong(builder, *exchange.from.mesh, axes),
                                           shards.newChannel(builder), builder.getUnitAttr());
    shards.setCombination(builder, scatter.getComputation(), exchange.from.combine,
                          typeOf(shard).getElementType());
    Value result = scatter.getResult();
    return only ? result : reshape(result, ArrayRef(sizes).drop_front());
  }

  ShardBuilder &shards;
  OpBuilder &builder;
  Location location;
  ArrayRef<int64_t> shape;
};

Result<Value> ShardBuilder::reshard(OpBuilder &builder, Location location, Value shard,
                                    const Sharding &from, const Sharding &to,
                                    ArrayRef<int64_t> globalShape) {
  if (from == to)
    return shard;
  auto type = dyn_cast<RankedTensorType>(shard.getType());
  const size_t rank = from.isReplicated() ? to.dims.size() : from.dims.size();
  if (!type || !type.hasStaticShape() || type.getRank() != static_cast<int64_t>(rank))
    return Status(Error::planOp,
                  concat("cannot reshard from ", from.toString(), " to ", to.toString(),
                         ": its tensor must have a static shape of rank ", rank));
  SmallVector<int64_t> shape(globalShape);
  if (shape.empty())
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      shape.push_back(size * from.count(dim));
  ExchangeEmitter emitter(*this, builder, location, shape);
  // The cheapest plan does not depend on the size of an element.
  for (const Exchange &exchange : planReshard(from, to, shape, /*elementBytes=*/1))
    shard = emitter.emit(exchange, shard);
  return shard;
}

} // namespace tilewright::distribute
