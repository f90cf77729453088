// reduce of one input with a known operation.
#include "tilewright/runtime/cpu/library/Scratch.h"
#include "tilewright/runtime/cpu/library/movement/CopyRows.h"
#include "tilewright/runtime/cpu/library/reduce/Converted.h"
#include "tilewright/runtime/cpu/library/reduce/ReduceGeometry.h"
#include "tilewright/runtime/cpu/library/rows/RowArithmetic.h"

#include <algorithm>
#include <cstring>

namespace tilewright::runtime::cpu {

KernelResult prepareReduceFunction(const CallReader &reader, ReduceGeometry geometry);
KernelResult prepareArgReduce(const CallReader &reader, ReduceGeometry geometry, bool isMaximum);

namespace {
class ReduceKernel final : public LibraryKernel {
public:
  ReduceKernel(ElementType operand, ElementType result, ReduceGeometry geometry,
               std::unique_ptr<RowArithmetic> rows)
      : operand(operand), result(result), geometry(std::move(geometry)), rows(std::move(rows)) {}

  Status run(const LibraryRun &run) const override {
    if (geometry.outputs == 0)
      return Status();
    const Converted input(operand, run.operands[0], result,
                          geometry.outputs * geometry.reducedCount);
    const Converted init(operand, run.operands[1], result, 1);
    const Run now{input.data(), init.data(), run.results[0], run.pool};
    if (geometry.reducedCount == 0)
      fill(now);
    else if (geometry.lastIsReduced)
      reduceRuns(now);
    else
      reduceColumns(now);
    return Status();
  }

private:
  struct Run {
    const std::byte *from, *init;
    std::byte *to;
    ThreadPool &pool;
  };
  Scratch valuesOf(int64_t count) const { return Scratch(count * rows->valueBytes); }

  void fill(const Run &run) const {
    for (int64_t i = 0; i < geometry.outputs; ++i)
      std::memcpy(run.to + i * rows->storedBytes, run.init, static_cast<size_t>(rows->storedBytes));
  }

  /// Computes `count` elements of the result at `to` from their combined values and the init value.
  void finish(const Run &run, std::byte *to, const std::byte *values, int64_t count) const {
    alignas(16) std::byte first[16];
    rows->widen(run.init, first, 1);
    constexpr int64_t most = 64;
    for (int64_t i = 0; i < count; i += most) {
      const int64_t now = std::min(most, count - i);
      alignas(64) std::byte sum[most * 16];
      fillElements(sum, first, rows->valueBytes, now);
      rows->combineValues(sum, values + i * rows->valueBytes, now);
      rows->narrow(sum, to + i * rows->storedBytes, now);
    }
  }

  /// Combines `count` rows of values into the first, as a balanced tree.
  void combineTree(std::byte *values, int64_t count, int64_t width) const {
    const int64_t row = width * rows->valueBytes;
    for (int64_t step = 1; step < count; step *= 2)
      for (int64_t i = 0; i + step < count; i += 2 * step)
        rows->combineValues(values + i * row, values + (i + step) * row, width);
  }

  // Reduces contiguous pieces, if the last dimension is reduced.
  void reduceRuns(const Run &run) const {
    const int64_t perRun = (geometry.last + reducePiece - 1) / reducePiece;
    const int64_t pieces = perRun * geometry.reducedLoops;
    auto piece = [&](int64_t output, int64_t number, std::byte *value) {
      const int64_t begin = number % perRun * reducePiece;
      const int64_t offset =
          offsetOf(geometry.kept, output) + offsetOf(geometry.reduced, number / perRun) + begin;
      rows->reduce(run.from + offset * rows->storedBytes,
                   std::min(reducePiece, geometry.last - begin), value);
    };
    const int64_t bytes = rows->valueBytes;
    if (pieces == 1) {
      const int64_t grain = std::max<int64_t>(1, (1 << 15) / geometry.reducedCount);
      run.pool.parallelFor(geometry.outputs, grain, [&](int64_t begin, int64_t end) {
        alignas(64) std::byte value[64 * 16];
        for (int64_t block = begin; block < end; block += 64) {
          const int64_t now = std::min<int64_t>(64, end - block);
          OffsetWalk walk(geometry.kept, block);
          for (int64_t i = 0; i < now; ++i, walk.next())
            rows->reduce(run.from + walk.offset() * rows->storedBytes, geometry.last,
                         value + i * bytes);
          finish(run, run.to + block * rows->storedBytes, value, now);
        }
      });
      return;
    }
    if (geometry.outputs >= 16) {
      run.pool.parallelFor(geometry.outputs, 1, [&](int64_t begin, int64_t end) {
        const Scratch values = valuesOf(pieces);
        for (int64_t output = begin; output < end; ++output) {
          for (int64_t i = 0; i < pieces; ++i)
            piece(output, i, values.data() + i * bytes);
          combineTree(values.data(), pieces, 1);
          finish(run, run.to + output * rows->storedBytes, values.data(), 1);
        }
      });
      return;
    }
    const Scratch values = valuesOf(pieces * geometry.outputs);
    const int64_t pieceSize = std::min(geometry.last, reducePiece);
    run.pool.parallelFor(pieces * geometry.outputs, std::max<int64_t>(1, (1 << 15) / pieceSize),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i)
                             piece(i / pieces, i % pieces, values.data() + i * bytes);
                         });
    for (int64_t output = 0; output < geometry.outputs; ++output) {
      combineTree(values.data() + output * pieces * bytes, pieces, 1);
      finish(run, run.to + output * rows->storedBytes, values.data() + output * pieces * bytes, 1);
    }
  }

  /// Combines rows [begin, end) of `width` columns at `from` into `values`, as a tree of short
  /// sequences.
  void combineRows(const std::byte *from, std::span<const LoopDim> dims, int64_t begin, int64_t end,
                   int64_t width, std::byte *values) const {
    constexpr int64_t sequence = 128;
    if (end - begin > sequence) {
      const int64_t middle = begin + (end - begin) / 2;
      combineRows(from, dims, begin, middle, width, values);
      const Scratch other = valuesOf(width);
      combineRows(from, dims, middle, end, width, other.data());
      rows->combineValues(values, other.data(), width);
      return;
    }
    OffsetWalk walk(dims, begin);
    rows->widen(from + walk.offset() * rows->storedBytes, values, width);
    for (int64_t row = begin + 1; row < end; ++row) {
      walk.next();
      rows->combine(values, from + walk.offset() * rows->storedBytes, width);
    }
  }

  // Combines whole rows, if the last dimension is kept.
  void reduceColumns(const Run &run) const {
    const int64_t columns = geometry.last;
    // If there are few columns and rows are contiguous, treat several rows as one wide row, and
    // combine its parts at the end.
    int64_t fold = 1;
    if (geometry.reduced.size() == 1 && geometry.reduced[0].stride == columns)
      while (columns * fold * 2 <= 512 && geometry.reducedLoops >= fold * 8)
        fold *= 2;
    const int64_t loops = geometry.reducedLoops / fold, tail = loops * fold;
    const LoopDim folded{loops, columns * fold};
    const std::span<const LoopDim> dims = fold > 1 ? std::span<const LoopDim>(&folded, 1)
                                                   : std::span<const LoopDim>(geometry.reduced);

    constexpr int64_t most = 2048; // columns per task, so that their sums stay in the cache
    const int64_t width = std::min(columns * fold, most);
    const int64_t blocks = (columns * fold + width - 1) / width;
    const int64_t tasks = geometry.keptCount * blocks;
    // Split long reductions if there are few tasks. The split depends only on the shape, not on the
    // number of threads.
    const int64_t splits = tasks < 16 ? std::clamp<int64_t>(loops * width / reducePiece, 1, 64) : 1;
    auto part = [&](int64_t task, int64_t split, std::byte *values) {
      const int64_t first = task % blocks * width;
      const std::byte *from =
          run.from + (offsetOf(geometry.kept, task / blocks) + first) * rows->storedBytes;
      combineRows(from, dims, loops * split / splits, loops * (split + 1) / splits,
                  std::min(width, columns * fold - first), values);
    };
    auto store = [&](int64_t task, std::byte *values) {
      const int64_t kept = task / blocks, first = task % blocks * width;
      if (fold > 1) {
        for (int64_t half = fold / 2; half > 0; half /= 2)
          rows->combineValues(values, values + half * columns * rows->valueBytes, half * columns);
        for (int64_t row = tail; row < geometry.reducedLoops; ++row)
          rows->combine(values,
                        run.from +
                            (offsetOf(geometry.kept, kept) + row * columns) * rows->storedBytes,
                        columns);
      }
      finish(run, run.to + (kept * columns + first) * rows->storedBytes, values,
             fold > 1 ? columns : std::min(width, columns - first));
    };
    if (splits == 1) {
      const int64_t grain = std::max<int64_t>(1, (1 << 15) / (width * loops));
      run.pool.parallelFor(tasks, grain, [&](int64_t begin, int64_t end) {
        const Scratch values = valuesOf(width);
        for (int64_t task = begin; task < end; ++task) {
          part(task, 0, values.data());
          store(task, values.data());
        }
      });
      return;
    }
    const Scratch values = valuesOf(tasks * splits * width);
    const int64_t bytes = width * rows->valueBytes;
    run.pool.parallelFor(tasks * splits, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        part(i / splits, i % splits, values.data() + i * bytes);
    });
    for (int64_t task = 0; task < tasks; ++task) {
      combineTree(values.data() + task * splits * bytes, splits, width);
      store(task, values.data() + task * splits * bytes);
    }
  }

  ElementType operand, result;
  ReduceGeometry geometry;
  std::unique_ptr<RowArithmetic> rows;
};
} // namespace

KernelResult prepareReduce(const artifact::ReduceCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_ASSIGN(ReduceGeometry geometry, reduceGeometryOf(reader, call.dimensions));
  if (call.body == Combiner::argmax || call.body == Combiner::argmin)
    return prepareArgReduce(reader, std::move(geometry), call.body == Combiner::argmax);
  if (call.body == Combiner::function)
    return prepareReduceFunction(reader, std::move(geometry));
  if (types.results.size() != 1)
    return reader.failure("a reduction by '", nameOf(call.body), "' takes one input, got ",
                          types.results.size());
  const ElementType result = types.results[0].element;
  std::unique_ptr<RowArithmetic> rows = RowArithmetic::create(call.body, result);
  if (!rows)
    return reader.failure("'", nameOf(call.body), "' is not defined for ",
                          numerics::spelling(result));
  if (types.operands[1].element != types.operands[0].element)
    return reader.failure("input and init value must have the same element type, got ",
                          typeString(types.operands[0]), " and ", typeString(types.operands[1]));
  return makeKernel<ReduceKernel>(types.operands[0].element, result, std::move(geometry),
                                  std::move(rows));
}

} // namespace tilewright::runtime::cpu
