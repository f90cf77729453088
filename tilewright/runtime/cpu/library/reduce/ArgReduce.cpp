// Positions of the largest and smallest elements: reduce with body "argmax" or "argmin", and the
// kernels argmax and argmin, which compute the indices themselves.
#include "tilewright/runtime/cpu/library/Isa.h"
#include "tilewright/runtime/cpu/library/reduce/ReduceGeometry.h"
#include "tilewright/runtime/cpu/library/rows/Numbers.h"

#include <algorithm>
#include <vector>

namespace tilewright::runtime::cpu {

namespace {
/// Whether (value, index) replaces (best, at): the value is more extreme, or NaN while the best is
/// not, or equal with a smaller index.
template <bool isMaximum, typename Value, typename Index>
TILEWRIGHT_INLINE bool goesBefore(Value value, Index index, Value best, Index at) {
  const bool further = isMaximum ? value > best : value < best;
  const bool isNan = value != value, bestIsNan = best != best;
  const bool equal = (value == best) | (isNan & bestIsNan);
  return (further & !bestIsNan) | (isNan & !bestIsNan) | (equal & (index < at));
}

/// Reduces to the best element and its index. `Number` describes the type of the values.
template <typename Number, typename Index, bool isMaximum>
class ArgReduceKernel final : public LibraryKernel {
  using Stored = typename Number::Stored;
  using Value = typename Number::Value;

public:
  /// If `makesIndices`, the values are the only operand, and an index is the position within the
  /// reduced dimension. If `givesValues`, result 0 receives the best values.
  ArgReduceKernel(ReduceGeometry geometry, bool makesIndices, bool givesValues)
      : geometry(std::move(geometry)), makesIndices(makesIndices), givesValues(givesValues) {}

  Status run(const LibraryRun &run) const override {
    const auto *values = reinterpret_cast<const Stored *>(run.operands[0]);
    const auto *indices = makesIndices ? nullptr : reinterpret_cast<const Index *>(run.operands[1]);
    const int64_t width = geometry.lastIsReduced ? 1 : geometry.last;
    const int64_t run1 = geometry.lastIsReduced ? geometry.last : 1;
    constexpr int64_t block = 256;
    const int64_t blocks = (width + block - 1) / block, tasks = geometry.keptCount * blocks;
    const int64_t grain = std::max<int64_t>(
        1, (1 << 14) / std::max<int64_t>(1, geometry.reducedCount * std::min(width, block)));
    run.pool.parallelFor(tasks, grain, [&](int64_t begin, int64_t end) {
      Value best[block] = {};
      Index at[block] = {};
      for (int64_t task = begin; task < end; ++task) {
        const int64_t kept = task / blocks, first = task % blocks * block;
        const int64_t columns = std::min(block, width - first);
        const int64_t place = offsetOf(geometry.kept, kept) + first;
        const bool isEmpty = geometry.reducedCount == 0;
        OffsetWalk walk(isEmpty ? std::span<const LoopDim>() : geometry.reduced, 0);
        for (int64_t loop = 0; !isEmpty && loop < geometry.reducedLoops; ++loop, walk.next()) {
          const int64_t offset = place + walk.offset();
          const Index *given = indices ? indices + offset : nullptr;
          if (geometry.lastIsReduced)
            bestOfRun(values + offset, given, run1, loop * run1, best, at, loop == 0);
          else
            bestOfColumns(values + offset, given, columns, loop, best, at, loop == 0);
        }
        for (int64_t i = 0; i < columns; ++i)
          store(run, kept * width + first + i, best[i], at[i]);
      }
    });
    return Status();
  }

private:
  void store(const LibraryRun &run, int64_t output, Value best, Index at) const {
    if (!makesIndices) {
      // The init values count as an additional first element.
      const Value init = Number::load(*reinterpret_cast<const Stored *>(run.operands[2]));
      const Index initAt = *reinterpret_cast<const Index *>(run.operands[3]);
      const bool isEmpty = geometry.reducedCount == 0;
      const bool wins = (isMaximum ? init > best : init < best) || init != init;
      if (isEmpty || wins || (init == best && initAt < at))
        at = initAt;
      if (isEmpty || wins)
        best = init;
    }
    if (givesValues)
      reinterpret_cast<Stored *>(run.results[0])[output] = Number::store(best);
    reinterpret_cast<Index *>(run.results[givesValues ? 1 : 0])[output] = at;
  }

  /// Compares each of `columns` elements with the best so far in its column.
  static void bestOfColumns(const Stored *values, const Index *indices, int64_t columns,
                            int64_t number, Value *best, Index *at, bool isFirst) {
    withVectors([&](auto) TILEWRIGHT_LAMBDA {
      for (int64_t i = 0; i < columns; ++i) {
        const Value value = Number::load(values[i]);
        const Index index = indices ? indices[i] : static_cast<Index>(number);
        const bool takes = isFirst || goesBefore<isMaximum>(value, index, best[i], at[i]);
        best[i] = takes ? value : best[i];
        at[i] = takes ? index : at[i];
      }
    });
  }

  /// Reduces contiguous elements: first in lanes, then across the lanes.
  static void bestOfRun(const Stored *values, const Index *indices, int64_t count, int64_t number,
                        Value *best, Index *at, bool isFirst) {
    constexpr int64_t lanes = 64;
    if (isFirst) {
      best[0] = Number::load(values[0]);
      at[0] = indices ? indices[0] : static_cast<Index>(number);
    }
    const int64_t whole = count / lanes * lanes;
    if (whole > 0) {
      Value laneBest[lanes];
      Index laneAt[lanes];
      withVectors([&](auto) TILEWRIGHT_LAMBDA {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          laneBest[lane] = Number::load(values[lane]);
          laneAt[lane] = indices ? indices[lane] : static_cast<Index>(number + lane);
        }
        for (int64_t i = lanes; i < whole; i += lanes)
          for (int64_t lane = 0; lane < lanes; ++lane) {
            const Value value = Number::load(values[i + lane]);
            const Index index = indices ? indices[i + lane] : static_cast<Index>(number + i + lane);
            const bool takes = goesBefore<isMaximum>(value, index, laneBest[lane], laneAt[lane]);
            laneBest[lane] = takes ? value : laneBest[lane];
            laneAt[lane] = takes ? index : laneAt[lane];
          }
      });
      for (int64_t lane = 0; lane < lanes; ++lane)
        if (goesBefore<isMaximum>(laneBest[lane], laneAt[lane], best[0], at[0]))
          best[0] = laneBest[lane], at[0] = laneAt[lane];
    }
    for (int64_t i = whole; i < count; ++i) {
      const Value value = Number::load(values[i]);
      const Index index = indices ? indices[i] : static_cast<Index>(number + i);
      if (goesBefore<isMaximum>(value, index, best[0], at[0]))
        best[0] = value, at[0] = index;
    }
  }

  ReduceGeometry geometry;
  bool makesIndices, givesValues;
};

struct ArgOptions {
  bool isMaximum, makesIndices, givesValues;
};
} // namespace

template <typename Number, typename Index>
static KernelResult make(ReduceGeometry geometry, const ArgOptions &options) {
  if (options.isMaximum)
    return makeKernel<ArgReduceKernel<Number, Index, true>>(
        std::move(geometry), options.makesIndices, options.givesValues);
  return makeKernel<ArgReduceKernel<Number, Index, false>>(
      std::move(geometry), options.makesIndices, options.givesValues);
}

template <typename Number>
static KernelResult make(const CallReader &reader, ElementType index, ReduceGeometry geometry,
                         const ArgOptions &options) {
  if (index == ElementType::i32)
    return make<Number, int32_t>(std::move(geometry), options);
  if (index == ElementType::i64)
    return make<Number, int64_t>(std::move(geometry), options);
  return reader.failure("indices must be i32 or i64, got ", numerics::spelling(index));
}

static KernelResult make(const CallReader &reader, ElementType value, ElementType index,
                         ReduceGeometry geometry, const ArgOptions &options) {
  switch (value) {
  case ElementType::f32:
    return make<PlainNumber<float>>(reader, index, std::move(geometry), options);
  case ElementType::f64:
    return make<PlainNumber<double>>(reader, index, std::move(geometry), options);
  case ElementType::bf16:
    return make<Bf16Number>(reader, index, std::move(geometry), options);
  case ElementType::f16:
    return make<F16Number>(reader, index, std::move(geometry), options);
  case ElementType::pred:
  case ElementType::ui8:
    return make<PlainNumber<uint8_t>>(reader, index, std::move(geometry), options);
  case ElementType::i8:
    return make<PlainNumber<int8_t>>(reader, index, std::move(geometry), options);
  case ElementType::i16:
    return make<PlainNumber<int16_t>>(reader, index, std::move(geometry), options);
  case ElementType::i32:
    return make<PlainNumber<int32_t>>(reader, index, std::move(geometry), options);
  case ElementType::i64:
    return make<PlainNumber<int64_t>>(reader, index, std::move(geometry), options);
  case ElementType::ui16:
    return make<PlainNumber<uint16_t>>(reader, index, std::move(geometry), options);
  case ElementType::ui32:
    return make<PlainNumber<uint32_t>>(reader, index, std::move(geometry), options);
  case ElementType::ui64:
    return make<PlainNumber<uint64_t>>(reader, index, std::move(geometry), options);
  default:
    return reader.failure("argmax and argmin of ", numerics::spelling(value),
                          " are not supported; pass the body as a function");
  }
}

KernelResult prepareArgReduce(const CallReader &reader, ReduceGeometry geometry, bool isMaximum) {
  const LibrarySignature &types = reader.types;
  if (types.results.size() != 2 || types.operands[0].element != types.results[0].element ||
      types.operands[1].element != types.results[1].element ||
      types.operands[2].element != types.results[0].element ||
      types.operands[3].element != types.results[1].element)
    return reader.failure("argmax and argmin must have values, indices, and an init value of the "
                          "same type for each of them");
  return make(reader, types.results[0].element, types.results[1].element, std::move(geometry),
              {isMaximum, false, true});
}

/// Operand: values. Results: indices, or values and indices.
static KernelResult prepareArg(const CallReader &reader, int64_t dimension, bool isMaximum) {
  const LibrarySignature &types = reader.types;
  const bool givesValues = types.results.size() == 2;
  TILEWRIGHT_TRY(reader.expectCounts(1, givesValues ? 2 : 1));
  TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(0));
  const Dims dimensions = {dimension};
  TILEWRIGHT_TRY(reader.checkDims("dimension", dimensions, shape.rank()));
  const Dims kept = pick(shape.dims(), remaining(shape.rank(), dimensions));
  const ElementType index = types.results[givesValues].element;
  TILEWRIGHT_TRY(reader.expectResult(givesValues, index, kept));
  if (givesValues)
    TILEWRIGHT_TRY(reader.expectResult(0, types.operands[0].element, kept));
  ReduceGeometry geometry(shape, dimensions);
  if (geometry.reducedCount == 0 && geometry.outputs > 0)
    return reader.failure("an empty dimension has no largest or smallest element");
  return make(reader, types.operands[0].element, index, std::move(geometry),
              {isMaximum, true, givesValues});
}

KernelResult prepareArgMax(const artifact::ArgMaxCall &call, const LibrarySignature &types) {
  return prepareArg(CallReader(call.name, types), call.dimension, true);
}
KernelResult prepareArgMin(const artifact::ArgMinCall &call, const LibrarySignature &types) {
  return prepareArg(CallReader(call.name, types), call.dimension, false);
}

} // namespace tilewright::runtime::cpu
