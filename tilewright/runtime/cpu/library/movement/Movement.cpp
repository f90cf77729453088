// Kernels that consist of one or several strided copies.
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/movement/CopyPlan.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

namespace {
/// Copies boxes of operands to boxes of result 0.
class CopyKernel final : public LibraryKernel {
public:
  struct Box {
    CopyPlan plan;
    size_t operand = 0;
    int64_t fromByte = 0, toByte = 0;
  };
  explicit CopyKernel(std::vector<Box> boxes) : boxes(std::move(boxes)) {}
  CopyKernel(CopyPlan plan, int64_t fromByte) {
    boxes.push_back({std::move(plan), 0, fromByte, 0});
  }

  Status run(const LibraryRun &run) const override {
    for (const Box &box : boxes)
      box.plan.run(run.operands[box.operand] + box.fromByte, run.results[0] + box.toByte, run.pool);
    return Status();
  }

private:
  std::vector<Box> boxes;
};
} // namespace

static size_t elementBytes(const LibrarySignature &types) {
  return numerics::storageBytes(types.operands[0].element);
}

/// A kernel that fills the result with elements of the operand, starting at element `from`, with
/// these strides.
static KernelResult viewOf(const CallReader &reader, int64_t from,
                           std::span<const int64_t> strides) {
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  const size_t bytes = elementBytes(reader.types);
  return makeKernel<CopyKernel>(CopyPlan(result.dims(), strides, result.strides(), bytes),
                                from * static_cast<int64_t>(bytes));
}

KernelResult prepareReshape(const artifact::ReshapeCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  if (operand.elementCount() != result.elementCount() ||
      types.operands[0].element != types.results[0].element)
    return reader.failure(
        "operand and result must have the same element type and number of elements, got ",
        typeString(types.operands[0]), " and ", typeString(types.results[0]));
  const Dims one = {1}, all = {operand.elementCount()};
  return makeKernel<CopyKernel>(CopyPlan(all, one, one, elementBytes(types)), 0);
}

KernelResult prepareTranspose(const artifact::TransposeCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  const Dims &permutation = call.permutation;
  TILEWRIGHT_TRY(reader.checkDims("permutation", permutation, operand.rank()));
  if (static_cast<int64_t>(permutation.size()) != operand.rank())
    return reader.failure("permutation must list each of the ", operand.rank(),
                          " dimensions once, got ", listed(permutation));
  TILEWRIGHT_TRY(
      reader.expectResult(0, types.operands[0].element, pick(operand.dims(), permutation)));
  return viewOf(reader, 0, pick(operand.strides(), permutation));
}

KernelResult prepareReverse(const artifact::ReverseCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  const Dims &dimensions = call.dimensions;
  TILEWRIGHT_TRY(reader.checkDims("dimensions", dimensions, operand.rank()));
  TILEWRIGHT_TRY(reader.expectResult(0, types.operands[0].element, operand.dims()));
  Dims strides = operand.strides();
  int64_t from = 0;
  for (int64_t dim : dimensions) {
    int64_t &stride = strides[static_cast<size_t>(dim)];
    from += std::max<int64_t>(operand[dim] - 1, 0) * stride;
    stride = -stride;
  }
  return viewOf(reader, from, strides);
}

KernelResult prepareSlice(const artifact::SliceCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  const Dims &start = call.startIndices, &limit = call.limitIndices, &step = call.strides;
  const auto rank = static_cast<size_t>(operand.rank());
  if (start.size() != rank || limit.size() != rank || step.size() != rank)
    return reader.failure("start_indices, limit_indices and strides must have ", rank,
                          " entries each, got ", start.size(), ", ", limit.size(), " and ",
                          step.size());
  Dims sizes(rank), strides = operand.strides();
  int64_t from = 0;
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t size = operand[static_cast<int64_t>(dim)];
    if (start[dim] < 0 || start[dim] > limit[dim] || limit[dim] > size || step[dim] < 1)
      return reader.failure("dimension ", dim, " needs 0 <= start <= limit <= ", size,
                            " and a positive stride, got ", start[dim], ", ", limit[dim], " and ",
                            step[dim]);
    const int64_t span = limit[dim] - start[dim];
    sizes[dim] = span / step[dim] + (span % step[dim] != 0);
    from += start[dim] * strides[dim];
    // A stride larger than the dimension is never used, and multiplying it could overflow.
    strides[dim] *= sizes[dim] > 1 ? step[dim] : 1;
  }
  TILEWRIGHT_TRY(reader.expectResult(0, types.operands[0].element, sizes));
  return viewOf(reader, from, strides);
}

KernelResult prepareBroadcastInDim(const artifact::BroadcastInDimCall &call,
                                   const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  const Dims &dimensions = call.broadcastDimensions;
  TILEWRIGHT_TRY(reader.checkDims("broadcast_dimensions", dimensions, result.rank()));
  if (static_cast<int64_t>(dimensions.size()) != operand.rank() ||
      types.operands[0].element != types.results[0].element)
    return reader.failure(
        "broadcast_dimensions must have one entry for each dimension of the operand, and operand "
        "and result must have the same element type, got ",
        listed(dimensions), " for ", typeString(types.operands[0]), " and ",
        typeString(types.results[0]));
  Dims strides(static_cast<size_t>(result.rank()), 0);
  const Dims operandStrides = operand.strides();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const int64_t size = operand[static_cast<int64_t>(i)];
    if (size != 1 && size != result[dimensions[i]])
      return reader.failure("operand dimension ", i, " must have size 1 or the result's size, ",
                            result[dimensions[i]], ", got ", size);
    if (size != 1)
      strides[static_cast<size_t>(dimensions[i])] = operandStrides[i];
  }
  return viewOf(reader, 0, strides);
}

KernelResult prepareConcatenate(const artifact::ConcatenateCall &call,
                                const LibrarySignature &types) {
  CallReader reader(call.name, types);
  if (types.operands.empty())
    return reader.failure("must have at least one operand");
  TILEWRIGHT_TRY(reader.expectCounts(types.operands.size(), 1));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  const int64_t dimension = call.dimension;
  TILEWRIGHT_TRY(reader.checkDims("dimension", Dims{dimension}, result.rank()));
  const ElementType element = types.results[0].element;
  const auto bytes = static_cast<int64_t>(numerics::storageBytes(element));
  const Dims strides = result.strides();
  std::vector<CopyKernel::Box> boxes;
  int64_t begin = 0;
  for (size_t i = 0; i < types.operands.size(); ++i) {
    TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(i));
    bool fits = operand.rank() == result.rank() && types.operands[i].element == element;
    for (int64_t dim = 0; fits && dim < result.rank(); ++dim)
      fits = dim == dimension ? operand[dim] <= result[dim] - begin : operand[dim] == result[dim];
    if (!fits)
      return reader.failure("operand ", i, " of ", typeString(types.operands[i]),
                            " does not fit into the result, ", typeString(types.results[0]),
                            ", at index ", begin, " of dimension ", dimension);
    boxes.push_back(
        {CopyPlan(operand.dims(), operand.strides(), strides, static_cast<size_t>(bytes)), i, 0,
         begin * strides[static_cast<size_t>(dimension)] * bytes});
    begin += operand[dimension];
  }
  if (begin != result[dimension])
    return reader.failure("dimension ", dimension,
                          " of the result must have the sum of the operands' sizes, ", begin,
                          ", got ", result[dimension]);
  return makeKernel<CopyKernel>(std::move(boxes));
}

/// The part of the operand that remains after negative padding, and its position in the result.
namespace {
struct PaddedBox {
  Dims kept, first, target, step;
};
} // namespace

static Result<PaddedBox> paddedBox(const CallReader &reader, const artifact::PadCall &call,
                                   const Shape &operand, const Shape &result) {
  const Dims &low = call.edgePaddingLow, &high = call.edgePaddingHigh,
             &interior = call.interiorPadding;
  const auto rank = static_cast<size_t>(operand.rank());
  if (low.size() != rank || high.size() != rank || interior.size() != rank ||
      result.rank() != operand.rank())
    return reader.failure("the padding lists and the result must have the operand's rank, ", rank);
  PaddedBox box{Dims(rank), Dims(rank), Dims(rank), Dims(rank)};
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t size = operand[static_cast<int64_t>(dim)];
    int64_t step, spread, padded;
    if (interior[dim] < 0 || __builtin_add_overflow(interior[dim], 1, &step) ||
        __builtin_mul_overflow(std::max<int64_t>(size - 1, 0), step, &spread) ||
        __builtin_add_overflow(spread, size > 0, &spread) ||
        __builtin_add_overflow(spread, low[dim], &padded) ||
        __builtin_add_overflow(padded, high[dim], &padded) ||
        padded != result[static_cast<int64_t>(dim)])
      return reader.failure("padding dimension ", dim, " of size ", size, " with low ", low[dim],
                            ", high ", high[dim], " and interior ", interior[dim],
                            " does not result in the result's size, ",
                            result[static_cast<int64_t>(dim)]);
    box.first[dim] = low[dim] >= 0 ? 0 : (-low[dim] - 1) / step + 1;
    // Element i goes to low + i * step; elements `first` to `last` are those inside [0, padded).
    const int64_t room = padded - 1 - low[dim];
    const int64_t last = room < 0 ? -1 : std::min(size - 1, room / step);
    box.kept[dim] = std::max<int64_t>(0, last - box.first[dim] + 1);
    box.target[dim] = box.kept[dim] > 0 ? low[dim] + box.first[dim] * step : 0;
    box.step[dim] = box.kept[dim] > 1 ? step : 1;
  }
  return box;
}

KernelResult preparePad(const artifact::PadCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(2, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape value, reader.operandShape(1));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  const ElementType element = types.operands[0].element;
  if (value.elementCount() != 1 || types.operands[1].element != element ||
      types.results[0].element != element)
    return reader.failure("the padding value must be one element of the operand's type, got ",
                          typeString(types.operands[1]));
  TILEWRIGHT_ASSIGN(PaddedBox box, paddedBox(reader, call, operand, result));
  const size_t bytes = elementBytes(types), rank = box.kept.size();
  const Dims strides = result.strides(), zeros(rank, 0);
  std::vector<CopyKernel::Box> boxes;
  auto addFill = [&](const Dims &sizes, const Dims &begin) {
    int64_t offset = 0;
    for (size_t dim = 0; dim < rank; ++dim)
      offset += begin[dim] * strides[dim];
    boxes.push_back(
        {CopyPlan(sizes, zeros, strides, bytes), 1, 0, offset * static_cast<int64_t>(bytes)});
  };
  Dims sizes(result.dims().begin(), result.dims().end()), begin(rank, 0);
  const bool isEmpty = std::find(box.kept.begin(), box.kept.end(), 0) != box.kept.end();
  const bool isDense =
      std::all_of(box.step.begin(), box.step.end(), [](int64_t step) { return step == 1; });
  if (isEmpty || !isDense) {
    addFill(sizes, begin);
  } else {
    // Fill the padding around the box in slabs that do not overlap, so that no element is written
    // twice.
    for (size_t dim = 0; dim < rank; ++dim) {
      const int64_t end = box.target[dim] + box.kept[dim], size = sizes[dim];
      sizes[dim] = box.target[dim];
      addFill(sizes, begin);
      begin[dim] = end;
      sizes[dim] = size - end;
      addFill(sizes, begin);
      begin[dim] = box.target[dim];
      sizes[dim] = box.kept[dim];
    }
  }
  if (!isEmpty) {
    Dims toStrides = strides;
    const Dims fromStrides = operand.strides();
    int64_t from = 0, to = 0;
    for (size_t dim = 0; dim < rank; ++dim) {
      from += box.first[dim] * fromStrides[dim];
      to += box.target[dim] * strides[dim];
      toStrides[dim] *= box.step[dim];
    }
    boxes.push_back({CopyPlan(box.kept, fromStrides, toStrides, bytes), 0,
                     from * static_cast<int64_t>(bytes), to * static_cast<int64_t>(bytes)});
  }
  return makeKernel<CopyKernel>(std::move(boxes));
}

} // namespace tilewright::runtime::cpu
