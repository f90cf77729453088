#include "tilewright/transform/distribute/local/Halo.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"

#include "mlir/IR/Matchers.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// Whether the value is a constant whose bits are all zero, like the constants that a permute gives
/// to a device that receives nothing.
bool isZero(Value value) {
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat() &&
         llvm::all_of(constant.getRawData(), [](char byte) { return byte == 0; });
}

bool areEqual(ArrayRef<int64_t> values) { return llvm::all_equal(values); }

/// Whether every piece that lies outside of the dimension is all zeros, because it is where other
/// devices receive rows in a permute that gives this device nothing. For windows whose pieces have
/// the same sizes.
bool isZeroedByPermutes(const RowExchange &exchange) {
  using Pieces = std::vector<RowExchange::Piece>;
  for (size_t slot = 0; slot < exchange.pieces.front().size(); ++slot) {
    const auto sent = llvm::find_if(
        exchange.pieces, [&](const Pieces &pieces) { return !pieces[slot].isOutside(); });
    if (sent == exchange.pieces.end())
      return false;
    const int permute = (*sent)[slot].permute;
    for (const Pieces &pieces : exchange.pieces)
      if (pieces[slot].isOutside() &&
          (permute == RowExchange::own ||
           llvm::any_of(pieces, [&](const auto &piece) { return piece.permute == permute; })))
        return false;
  }
  return true;
}

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

} // namespace

int64_t ShardedDim::rowsOf(Value value) const {
  return cast<RankedTensorType>(value.getType()).getShape()[dim];
}

RankedTensorType ShardedDim::withRows(Value value, int64_t rows) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = rows;
  return type.clone(shape);
}

Value ShardedDim::rowSlice(Value value, int64_t start, int64_t limit) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  if (start == 0 && limit == shape[dim])
    return value;
  SmallVector<int64_t> starts(shape.size(), 0), limits(shape), strides(shape.size(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  return stablehlo::SliceOp::create(builder, location, withRows(value, limit - start), value,
                                    starts, limits, strides);
}

Value ShardedDim::padRows(Value value, Value fill, int64_t low, int64_t high, int64_t interior) {
  if (low == 0 && high == 0 && interior == 0)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  const auto rank = static_cast<size_t>(type.getRank());
  SmallVector<int64_t> lows(rank, 0), highs(rank, 0), interiors(rank, 0);
  lows[dim] = low;
  highs[dim] = high;
  interiors[dim] = interior;
  const int64_t rows = rowsOf(value), between = rows == 0 ? 0 : (rows - 1) * interior;
  return stablehlo::PadOp::create(builder, location, withRows(value, low + rows + between + high),
                                  value, fill, lows, highs, interiors);
}

Value ShardedDim::joinRows(ArrayRef<Value> values) {
  if (values.size() == 1)
    return values.front();
  int64_t rows = 0;
  for (Value value : values)
    rows += rowsOf(value);
  return stablehlo::ConcatenateOp::create(builder, location, withRows(values.front(), rows), values,
                                          static_cast<uint64_t>(dim));
}

Value ShardedDim::lookUp(ArrayRef<int64_t> byCoordinate) {
  if (areEqual(byCoordinate)) {
    auto scalar = RankedTensorType::get({}, builder.getI32Type());
    return stablehlo::ConstantOp::create(
        builder, location,
        DenseElementsAttr::get(scalar, static_cast<int32_t>(byCoordinate.front())));
  }
  SmallVector<int32_t> byDevice;
  for (int64_t device = 0; device < mesh.ranks(); ++device)
    byDevice.push_back(
        static_cast<int32_t>(byCoordinate[static_cast<size_t>(mesh.along(axes, device))]));
  return shards.lookUp(builder, location, byDevice);
}

Value ShardedDim::slice(Value value, ArrayRef<int64_t> starts, int64_t size) {
  if (areEqual(starts))
    return rowSlice(value, starts.front(), starts.front() + size);
  auto type = withRows(value, size);
  Value zero = lookUp({0});
  SmallVector<Value> indices(static_cast<size_t>(type.getRank()), zero);
  indices[dim] = lookUp(starts);
  return stablehlo::DynamicSliceOp::create(builder, location, type, value, indices,
                                           builder.getDenseI64ArrayAttr(type.getShape()));
}

Value ShardedDim::paddedSlice(Value value, ArrayRef<int64_t> starts, int64_t size, Value fill) {
  int64_t low = 0, high = 0;
  for (int64_t start : starts) {
    low = std::max(low, -start);
    high = std::max(high, start + size - rowsOf(value));
  }
  SmallVector<int64_t> from(starts);
  for (int64_t &start : from)
    start += low;
  return slice(padRows(value, fill, low, high, 0), from, size);
}

Value ShardedDim::onlyOn(int64_t coordinate, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::vector<int64_t> isThere = affine(0, 0);
  isThere[static_cast<size_t>(coordinate)] = 1;
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value one =
      stablehlo::ConstantOp::create(builder, location, DenseElementsAttr::get(scalar, int32_t{1}));
  Value isHere = stablehlo::CompareOp::create(
      builder, location, scalar.clone(builder.getI1Type()), lookUp(isThere), one,
      stablehlo::ComparisonDirection::EQ, stablehlo::ComparisonTypeAttr());
  Value nothing =
      stablehlo::ConstantOp::create(builder, location, neutralOf(type, "stablehlo.add"));
  return stablehlo::SelectOp::create(builder, location, type, isHere, value, nothing);
}

Value ShardedDim::mask(Value value, ArrayRef<int64_t> starts, int64_t rows, Value fill) {
  auto type = cast<RankedTensorType>(value.getType());
  auto indexType = cast<RankedTensorType>(type.clone(builder.getI32Type()));
  auto broadcast = [&](Value scalar, RankedTensorType to) -> Value {
    return stablehlo::BroadcastInDimOp::create(builder, location, to, scalar,
                                               builder.getDenseI64ArrayAttr({}));
  };
  Value row, isInside;
  auto require = [&](ArrayRef<int64_t> bounds, stablehlo::ComparisonDirection direction) {
    if (!row)
      row = stablehlo::IotaOp::create(builder, location, indexType, static_cast<uint64_t>(dim));
    Value holds = stablehlo::CompareOp::create(builder, location, type.clone(builder.getI1Type()),
                                               row, broadcast(lookUp(bounds), indexType), direction,
                                               stablehlo::ComparisonTypeAttr());
    isInside =
        isInside
            ? Value(stablehlo::AndOp::create(builder, location, holds.getType(), isInside, holds))
            : holds;
  };
  SmallVector<int64_t> lows, highs;
  const int64_t size = rowsOf(value);
  for (int64_t start : starts) {
    lows.push_back(std::clamp<int64_t>(-start, 0, size));
    highs.push_back(std::clamp<int64_t>(rows - start, 0, size));
  }
  if (llvm::any_of(lows, [](int64_t low) { return low > 0; }))
    require(lows, stablehlo::ComparisonDirection::GE);
  if (llvm::any_of(highs, [&](int64_t high) { return high < size; }))
    require(highs, stablehlo::ComparisonDirection::LT);
  if (!isInside)
    return value;
  return stablehlo::SelectOp::create(builder, location, type, isInside, value,
                                     broadcast(fill, type));
}

Value ShardedDim::assembleAlike(Value held, const RowExchange &exchange, ArrayRef<Value> received) {
  const std::vector<RowExchange::Piece> &first = exchange.pieces.front();
  SmallVector<Value> parts;
  for (size_t slot = 0; slot < first.size(); ++slot) {
    const RowExchange::Piece *found = nullptr; // a piece that is not outside
    for (size_t device = 0; device < exchange.pieces.size(); ++device) {
      const std::vector<RowExchange::Piece> &pieces = exchange.pieces[device];
      if (pieces.size() != first.size() || pieces[slot].rows != first[slot].rows)
        return Value();
      const RowExchange::Piece &piece = pieces[slot];
      if (piece.isOutside())
        continue;
      if (found && (found->permute != piece.permute || found->from != piece.from))
        return Value();
      found = &piece;
    }
    if (!found)
      return Value();
    if (found->permute == RowExchange::own)
      parts.push_back(rowSlice(held, found->from, found->from + found->rows));
    else if (exchange.permutes[static_cast<size_t>(found->permute)].rows == found->rows)
      parts.push_back(received[static_cast<size_t>(found->permute)]);
    else
      return Value();
  }
  return joinRows(parts);
}

Value ShardedDim::assembleByIndex(Value held, const RowExchange &exchange, ArrayRef<Value> received,
                                  int64_t size) {
  // Concatenates everything that the device holds, and finds the position at which the rows of each
  // permute begin.
  SmallVector<Value> all = {held};
  SmallVector<int64_t> begins;
  int64_t rows = rowsOf(held);
  for (Value value : received) {
    all.push_back(value);
    begins.push_back(rows);
    rows += rowsOf(value);
  }
  // Row `i` of a piece is row `i + shift` of the concatenation.
  auto shiftOf = [&](const RowExchange::Piece &piece) {
    if (piece.permute == RowExchange::own)
      return piece.isOutside() ? 0 : piece.from - piece.to;
    const auto permute = static_cast<size_t>(piece.permute);
    return begins[permute] + piece.from -
           exchange.permutes[permute].from[static_cast<size_t>(piece.owner)] - piece.to;
  };
  // Rows outside may have any position, so adjacent pieces of them need one slot.
  std::vector<std::vector<RowExchange::Piece>> joined;
  size_t slots = 0;
  for (const std::vector<RowExchange::Piece> &pieces : exchange.pieces) {
    std::vector<RowExchange::Piece> &own = joined.emplace_back();
    for (const RowExchange::Piece &piece : pieces)
      if (!own.empty() && own.back().isOutside() && piece.isOutside())
        own.back().rows += piece.rows;
      else
        own.push_back(piece);
    slots = std::max(slots, own.size());
  }
  Value everything = joinRows(all);
  SmallVector<int64_t> tos, shifts;
  auto gatherSlot = [&](size_t slot) {
    tos.clear();
    shifts.clear();
    for (const auto &pieces : joined) {
      tos.push_back(slot < pieces.size() ? pieces[slot].to : size);
      shifts.push_back(slot < pieces.size() ? shiftOf(pieces[slot]) : 0);
    }
  };
  if (slots == 1) {
    gatherSlot(0);
    return slice(everything, shifts, size);
  }
  auto type = RankedTensorType::get({size, 1}, builder.getI32Type());
  Value row = stablehlo::IotaOp::create(builder, location, type, uint64_t{0}), index;
  auto broadcast = [&](Value scalar) -> Value {
    return stablehlo::BroadcastInDimOp::create(builder, location, type, scalar,
                                               builder.getDenseI64ArrayAttr({}));
  };
  for (size_t slot = 0; slot < slots; ++slot) {
    gatherSlot(slot);
    Value here = stablehlo::AddOp::create(builder, location, type, row, broadcast(lookUp(shifts)));
    if (index) {
      Value isHere = stablehlo::CompareOp::create(
          builder, location, type.clone(builder.getI1Type()), row, broadcast(lookUp(tos)),
          stablehlo::ComparisonDirection::GE, stablehlo::ComparisonTypeAttr());
      here = stablehlo::SelectOp::create(builder, location, type, isHere, here, index);
    }
    index = here;
  }
  auto result = withRows(held, size);
  SmallVector<int64_t> offsets, sizes(result.getShape());
  for (int64_t other = 0; other < result.getRank(); ++other)
    if (other != static_cast<int64_t>(dim))
      offsets.push_back(other);
  sizes[dim] = 1;
  const auto at = static_cast<int64_t>(dim);
  return stablehlo::GatherOp::create(builder, location, result, everything, index,
                                     stablehlo::GatherDimensionNumbersAttr::get(
                                         builder.getContext(), offsets, {at}, {}, {}, {at}, 1),
                                     sizes, /*indices_are_sorted=*/false);
}

Value ShardedDim::assemble(Value held, const RowExchange &exchange, int64_t size) {
  const std::vector<std::vector<int64_t>> groups = mesh.groupsAlong(axes);
  SmallVector<Value> received;
  for (const RowExchange::Permute &permute : exchange.permutes) {
    // Devices that send nothing may slice at any position.
    int64_t any = *llvm::find_if(permute.from, [](int64_t from) { return from >= 0; });
    SmallVector<int64_t> from(permute.from.begin(), permute.from.end());
    llvm::replace(from, int64_t{-1}, any);
    SmallVector<std::pair<int64_t, int64_t>> pairs;
    for (const std::vector<int64_t> &group : groups)
      for (auto [source, target] : permute.pairs)
        pairs.push_back({group[static_cast<size_t>(source)], group[static_cast<size_t>(target)]});
    received.push_back(shards.permute(builder, location, slice(held, from, permute.rows), pairs));
  }
  if (Value joined = assembleAlike(held, exchange, received))
    return joined;
  return assembleByIndex(held, exchange, received, size);
}

std::vector<int64_t> ShardedDim::affine(int64_t base, int64_t step) const {
  std::vector<int64_t> values;
  for (int64_t c = 0; c < count(); ++c)
    values.push_back(base + c * step);
  return values;
}

Value ShardedDim::windowOfOwn(Value shard, ArrayRef<int64_t> starts, int64_t size, Value fill) {
  // The padding is next to the shard, because only shards at the edges need rows from outside.
  const int64_t held = rowsOf(shard), rows = held * count();
  auto isOutside = [&](int64_t start) { return start + size <= 0 || start >= rows; };
  SmallVector<int64_t> from;
  for (auto [c, start] : llvm::enumerate(starts))
    from.push_back(isOutside(start) ? 0 : start - static_cast<int64_t>(c) * held);
  Value padding = fill;
  if (!fill) {
    auto type = cast<RankedTensorType>(shard.getType());
    padding = stablehlo::ConstantOp::create(
        builder, location, zeroOf(RankedTensorType::get({}, type.getElementType())));
  }
  Value taken = paddedSlice(shard, from, size, padding);
  return fill && llvm::any_of(starts, isOutside) ? mask(taken, starts, rows, fill) : taken;
}

Value ShardedDim::window(Value shard, ArrayRef<int64_t> starts, int64_t size, Value fill) {
  const int64_t held = rowsOf(shard);
  const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
  const RowExchange exchange =
      planRows(blocksOf(count(), held, *first, *last + size), starts, size, held);
  if (exchange.permutes.empty())
    return windowOfOwn(shard, starts, size, fill);
  Value taken = assemble(shard, exchange, size);
  if (!fill || (isZero(fill) && taken.getDefiningOp<stablehlo::ConcatenateOp>() &&
                isZeroedByPermutes(exchange)))
    return taken;
  return mask(taken, starts, held * count(), fill);
}

std::optional<UndilatedWindow> UndilatedWindow::of(ArrayRef<int64_t> starts, int64_t size,
                                                   int64_t dilation) {
  UndilatedWindow window;
  SmallVector<int64_t> lows;
  for (int64_t start : starts) {
    window.starts.push_back(ceilDiv(start, dilation));
    lows.push_back(window.starts.back() * dilation - start);
  }
  if (!areEqual(lows) || lows.front() >= size)
    return std::nullopt;
  window.low = lows.front();
  window.rows = ceilDiv(size - window.low, dilation);
  window.high = size - window.low - ((window.rows - 1) * dilation + 1);
  return window;
}

Value ShardedDim::dilatedWindow(Value shard, ArrayRef<int64_t> starts, int64_t size,
                                int64_t dilation, Value fill) {
  if (dilation == 1)
    return window(shard, starts, size, fill);
  if (std::optional<UndilatedWindow> alike = UndilatedWindow::of(starts, size, dilation))
    return padRows(window(shard, alike->starts, alike->rows, fill), fill, alike->low, alike->high,
                   dilation - 1);
  // The padding before the first row differs between devices: pad as many rows as any of them
  // needs, then slice.
  SmallVector<int64_t> undilated, from;
  for (int64_t start : starts) {
    undilated.push_back(ceilDiv(start, dilation));
    from.push_back(dilation - 1 - (undilated.back() * dilation - start));
  }
  const int64_t rows = ceilDiv(size, dilation), spread = (rows - 1) * dilation + 1;
  Value padded = padRows(window(shard, undilated, rows, fill), fill, dilation - 1,
                         size - spread + dilation - 1, dilation - 1);
  return slice(padded, from, size);
}

RowExchange planRuns(ArrayRef<int64_t> rows, ArrayRef<RowRun> runs, int64_t shards) {
  SmallVector<int64_t> at;
  int64_t held = 0, size = 0;
  for (int64_t count : rows) {
    at.push_back(held);
    held += count;
  }
  std::vector<RowBlock> blocks;
  for (const RowRun &run : runs)
    for (int64_t row = run.start; row < run.limit;) {
      const int64_t owner = row / rows[run.operand], skipped = row % rows[run.operand];
      const int64_t taken = std::min(run.limit - row, rows[run.operand] - skipped);
      blocks.push_back({size, taken, owner, at[run.operand] + skipped});
      size += taken;
      row += taken;
    }
  const int64_t shard = size / shards;
  std::vector<int64_t> starts;
  for (int64_t c = 0; c < shards; ++c)
    starts.push_back(c * shard);
  return planRows(blocks, starts, shard, held);
}

Value ShardedDim::concatenate(ValueRange operands, ArrayRef<RowRun> runs) {
  SmallVector<int64_t> rows;
  int64_t size = 0;
  for (Value operand : operands)
    rows.push_back(rowsOf(operand));
  for (const RowRun &run : runs)
    size += run.limit - run.start;
  Value all = joinRows(SmallVector<Value>(operands));
  return assemble(all, planRuns(rows, runs, count()), size / count());
}

} // namespace tilewright::distribute
