// reduce_window.
#include "tilewright/runtime/cpu/library/Scratch.h"
#include "tilewright/runtime/cpu/library/movement/CopyRows.h"
#include "tilewright/runtime/cpu/library/reduce/Converted.h"
#include "tilewright/runtime/cpu/library/reduce/Cumulative.h"
#include "tilewright/runtime/cpu/library/reduce/ReduceGeometry.h"
#include "tilewright/runtime/cpu/library/reduce/Window.h"
#include "tilewright/runtime/cpu/library/rows/BodyFold.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

using Window = std::vector<WindowDim>;

/// Whether the result is independent of the order of combination.
static bool isExact(Combiner op, ElementType type) {
  const bool rounds = op == Combiner::add || op == Combiner::multiply;
  return !rounds || !(numerics::isReal(type) || numerics::isComplex(type));
}

/// Windows of at most this many elements (3 x 3) are reduced in one pass: separate passes would
/// save little and round in a different order.
constexpr int64_t maxInOrder = 9;

namespace {
/// reduce_window with a known operation. The operation is associative, so a window of several
/// dimensions is reduced one dimension after the other, the last one first: w + h steps for w * h
/// elements, without reordering them. If that saves little, one pass combines the elements in the
/// program's order.
class ReduceWindowKernel final : public LibraryKernel {
public:
  ReduceWindowKernel(ElementType operand, ElementType result, Combiner op, Window window,
                     std::unique_ptr<RowArithmetic> rows)
      : operand(operand), result(result), window(std::move(window)), rows(std::move(rows)) {
    int64_t elements = 1;
    for (const WindowDim &dim : this->window)
      elements = std::min(elements, maxInOrder + 1) * std::min(dim.size, maxInOrder + 1);
    for (size_t dim = 0; dim < this->window.size(); ++dim) {
      inputs *= this->window[dim].input;
      outputs *= this->window[dim].positions;
      if (!this->window[dim].isTrivial())
        passes.insert(passes.begin(), dim);
    }
    // Rows are combined in registers, so one pass is the fastest, too.
    const bool hasRows = !passes.empty() && innerOf(this->window, passes.front(), 0) > 1;
    inOrder = elements <= maxInOrder && (hasRows || (passes.size() > 1 && !isExact(op, result)));
    for (int64_t dim = 0; dim < batchRank(this->window); ++dim)
      batch *= this->window[static_cast<size_t>(dim)].input;
  }

  Status run(const LibraryRun &run) const override {
    if (outputs == 0)
      return Status();
    const Converted input(operand, run.operands[0], result, inputs);
    const Converted init(operand, run.operands[1], result, 1);
    if (passes.size() == 1) {
      const WindowDim &dim = window[passes[0]];
      if (dim.isCumulative() || dim.isReverseCumulative()) {
        const int64_t inner = innerOf(window, passes[0], 0);
        cumulate(*rows, {inputs / (dim.input * inner), dim.input, inner, !dim.isCumulative()},
                 input.data(), init.data(), run.results[0], run.pool);
        return Status();
      }
    }
    // Run all passes on a slab of a few positions of the first sliding dimension at a time, so that
    // the data between two passes stays in the cache.
    const int64_t fromBytes = inputs / batch * rows->storedBytes;
    const int64_t toBytes = outputs / batch * rows->storedBytes;
    const int64_t slab = positionsAtOnce(), slabs = (leadPositions() + slab - 1) / slab;
    const int64_t elements = std::max<int64_t>(1, inputs / batch / slabs);
    run.pool.parallelFor(
        batch * slabs, std::max<int64_t>(1, (1 << 14) / elements), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            reduceSlab(input.data() + i / slabs * fromBytes, init.data(),
                       run.results[0] + i / slabs * toBytes, i % slabs * slab, slab, run.pool);
        });
    return Status();
  }

private:
  int64_t leadPositions() const { return passes.empty() ? 1 : window[passes.back()].positions; }
  /// The number of positions of the first sliding dimension in a slab, so that it fits in part of
  /// L2. Overlapping windows read the elements at the border of two slabs twice, so a slab needs
  /// enough positions.
  int64_t positionsAtOnce() const {
    if (passes.empty() || window[passes.back()].baseDilation != 1)
      return leadPositions();
    constexpr int64_t cacheBytes = 256 << 10;
    const WindowDim &dim = window[passes.back()];
    const int64_t rowBytes =
        std::max<int64_t>(1, inputs / batch / std::max<int64_t>(1, dim.input) * rows->valueBytes);
    const int64_t extent = (dim.size - 1) * dim.windowDilation + 1;
    const int64_t least = extent <= dim.stride         ? 1
                          : extent > dim.positions / 4 ? dim.positions
                                                       : 4 * extent;
    return std::clamp(cacheBytes / rowBytes / dim.stride, least, dim.positions);
  }

  /// Reduces positions [first, first + count) of the first sliding dimension, using only the input
  /// elements under these positions.
  void reduceSlab(const std::byte *from, const std::byte *init, std::byte *to, int64_t first,
                  int64_t count, ThreadPool &pool) const {
    if (count >= leadPositions())
      return reduce(window, from, init, to, pool);
    Window part = window;
    WindowDim &dim = part[passes.back()];
    dim.positions = std::min(count, dim.positions - first);
    const int64_t low = first * dim.stride - dim.padLow;
    const int64_t high =
        low + (dim.positions - 1) * dim.stride + (dim.size - 1) * dim.windowDilation;
    const int64_t begin = std::clamp<int64_t>(low, 0, dim.input);
    const int64_t end = std::clamp(high + 1, begin, dim.input);
    const int64_t inputBytes = inputs / batch / std::max<int64_t>(1, dim.input) * rows->storedBytes;
    const int64_t outputBytes = outputs / batch / leadPositions() * rows->storedBytes;
    dim.input = end - begin;
    dim.padLow = begin - low;
    reduce(part, from + begin * inputBytes, init, to + first * outputBytes, pool);
  }

  /// The number of elements in the dimensions after `dim`. A dimension that one of the first `done`
  /// passes has reduced has as many elements as window positions, any other as many as inputs.
  int64_t innerOf(const Window &window, size_t dim, size_t done) const {
    int64_t inner = 1;
    for (size_t d = dim + 1; d < window.size(); ++d)
      inner *= isDone(d, done) ? window[d].positions : window[d].input;
    return inner;
  }
  int64_t outerOf(const Window &window, size_t dim, size_t done) const {
    int64_t outer = 1;
    for (size_t d = static_cast<size_t>(batchRank(this->window)); d < dim; ++d)
      outer *= isDone(d, done) ? window[d].positions : window[d].input;
    return outer;
  }
  bool isDone(size_t dim, size_t done) const {
    return std::find(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(done), dim) !=
           passes.begin() + static_cast<std::ptrdiff_t>(done);
  }

  /// Runs all passes over one item of the batch, or over a slab of it.
  void reduce(const Window &window, const std::byte *from, const std::byte *init, std::byte *to,
              ThreadPool &pool) const {
    Scratch before, after;
    const std::byte *source = from;
    int64_t count = inputs / batch;
    if (passes.empty())
      source = nullptr;
    alignas(16) std::byte first[16], none[16];
    rows->widen(init, first, 1);
    rows->identity(none);
    const bool changesNothing =
        std::memcmp(first, none, static_cast<size_t>(rows->valueBytes)) == 0;
    if (inOrder && changesNothing && rows->valueBytes == rows->storedBytes)
      return slideInOrder(window, from, to, pool);
    if (inOrder) {
      const size_t last = passes.front();
      count = outerOf(window, last, passes.size()) * window[last].positions *
              innerOf(window, last, passes.size());
      before = Scratch(count * rows->valueBytes);
      slideInOrder(window, from, before.data(), pool);
    }
    for (size_t pass = 0; pass < passes.size() && !inOrder; ++pass) {
      const WindowDim &dim = window[passes[pass]];
      const int64_t inner = innerOf(window, passes[pass], pass);
      const int64_t outer = outerOf(window, passes[pass], pass);
      count = outer * dim.positions * inner;
      after = Scratch(count * rows->valueBytes);
      const bool isStored = pass == 0;
      if (inner == 1 && dim.baseDilation == 1)
        slideAlong(dim, outer, source, isStored, after.data(), pool);
      else
        slideRows(dim, outer, inner, source, isStored, after.data(), pool);
      before.swap(after);
      source = before.data();
    }
    if (!source) { // no dimension slides: one element each
      before = Scratch(count * rows->valueBytes);
      rows->widen(from, before.data(), count);
    }
    constexpr int64_t piece = 1024;
    pool.parallelFor((count + piece - 1) / piece, 16, [&](int64_t begin, int64_t end) {
      if (changesNothing) {
        const int64_t at = begin * piece, now = std::min(end * piece, count) - at;
        rows->narrow(before.data() + at * rows->valueBytes, to + at * rows->storedBytes, now);
        return;
      }
      const Scratch start(piece * rows->valueBytes);
      for (int64_t i = begin * piece; i < std::min(end * piece, count); i += piece) {
        const int64_t now = std::min(piece, count - i);
        fillElements(start.data(), first, rows->valueBytes, now);
        rows->combineValues(start.data(), before.data() + i * rows->valueBytes, now);
        rows->narrow(start.data(), to + i * rows->storedBytes, now);
      }
    });
  }

  void combine(std::byte *values, const std::byte *others, bool areStored, int64_t count) const {
    if (areStored)
      rows->combine(values, others, count);
    else
      rows->combineValues(values, others, count);
  }
  void fillIdentity(std::byte *values, int64_t count) const {
    alignas(16) std::byte none[16];
    rows->identity(none);
    fillElements(values, none, rows->valueBytes, count);
  }

  /// Slides the window over whole rows of `inner` elements.
  void slideRows(const WindowDim &dim, int64_t outer, int64_t inner, const std::byte *from,
                 bool isStored, std::byte *to, ThreadPool &pool) const {
    const int64_t fromBytes = isStored ? rows->storedBytes : rows->valueBytes;
    constexpr int64_t most = 2048;
    pool.parallelFor(
        outer * dim.positions,
        std::max<int64_t>(1, (1 << 14) / (inner * std::clamp<int64_t>(dim.size, 1, 64))),
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const Taps taps = dim.tapsAt(task % dim.positions);
            std::byte *values = to + task * inner * rows->valueBytes;
            if (taps.count == 0)
              fillIdentity(values, inner);
            for (int64_t column = 0; column < inner; column += most) {
              const int64_t now = std::min(most, inner - column);
              std::byte *at = values + column * rows->valueBytes;
              for (int64_t tap = 0; tap < taps.count; ++tap) {
                const std::byte *row =
                    from +
                    ((task / dim.positions * dim.input + taps.first + tap * taps.step) * inner +
                     column) *
                        fromBytes;
                if (tap > 0)
                  combine(at, row, isStored, now);
                else if (isStored)
                  rows->widen(row, at, now);
                else
                  std::memcpy(at, row, static_cast<size_t>(now * rows->valueBytes));
              }
            }
          }
        });
  }

  /// Slides the window along contiguous elements: combines one window element at a time for all
  /// positions, so that the inner loop is vectorised.
  void slideAlong(const WindowDim &dim, int64_t outer, const std::byte *from, bool isStored,
                  std::byte *to, ThreadPool &pool) const {
    const int64_t fromBytes = isStored ? rows->storedBytes : rows->valueBytes;
    constexpr int64_t most = 1024; // positions per block
    const int64_t blocks = (dim.positions + most - 1) / most;
    pool.parallelFor(
        outer * blocks,
        std::max<int64_t>(1, (1 << 14) / (std::clamp<int64_t>(dim.size, 1, 64) * most)),
        [&](int64_t begin, int64_t end) {
          const Scratch picked(most * fromBytes);
          for (int64_t task = begin; task < end; ++task) {
            const int64_t first = task % blocks * most, row = task / blocks;
            const int64_t count = std::min(most, dim.positions - first);
            std::byte *values = to + (row * dim.positions + first) * rows->valueBytes;
            fillIdentity(values, count);
            slideBlock(dim, from + row * dim.input * fromBytes, isStored, first, count, values,
                       picked.data());
          }
        });
  }

  /// Reduces all dimensions in one pass, by rows of the last sliding dimension.
  void slideInOrder(const Window &window, const std::byte *from, std::byte *to,
                    ThreadPool &pool) const {
    const auto begin = static_cast<size_t>(batchRank(this->window));
    const size_t last = passes.front();
    const WindowDim &dim = window[last];
    const int64_t inner = innerOf(window, last, 0);
    const auto [inside, until] = dim.wholePositions();
    const bool areNeighbours = inner == 1 && dim.baseDilation == 1;
    std::vector<int64_t> strides(last + 1, inner); // of the input
    for (size_t d = last; d-- > begin;)
      strides[d] = strides[d + 1] * window[d + 1].input;
    int64_t lines = 1;
    for (size_t d = begin; d < last; ++d)
      lines *= window[d].positions;
    const int64_t lineBytes = dim.positions * inner * rows->valueBytes;
    const int64_t grain =
        std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, dim.positions * inner * maxInOrder));
    pool.parallelFor(lines, grain, [&](int64_t first, int64_t end) {
      const Scratch picked(areNeighbours ? dim.positions * rows->storedBytes : 0);
      std::vector<LoopDim> taps(last + 1 - begin);
      std::vector<int64_t> offsets;
      for (int64_t line = first; line < end; ++line) {
        std::byte *values = to + line * lineBytes;
        int64_t rest = line, offset = 0;
        auto place = [&](size_t d, int64_t position) {
          const Taps here = window[d].tapsAt(position);
          taps[d - begin] = {here.count, here.step * strides[d]};
          return here.first * strides[d];
        };
        for (size_t d = last; d-- > begin;) {
          offset += place(d, rest % window[d].positions);
          rest /= window[d].positions;
        }
        const std::span<const LoopDim> outside(taps.data(), last - begin);
        if (areNeighbours) {
          fillIdentity(values, dim.positions);
          eachTap(outside, [&](int64_t tap) {
            slideBlock(dim, from + (offset + tap) * rows->storedBytes, true, 0, dim.positions,
                       values, picked.data());
          });
          continue;
        }
        offsets.clear();
        if (inside < until)
          eachTap(outside, [&](int64_t tap) {
            for (int64_t w = 0; w < dim.size; ++w)
              offsets.push_back(tap + w * dim.windowDilation * inner);
          });
        if (!offsets.empty())
          rows->combineTaps(values + inside * inner * rows->valueBytes,
                            from + (offset + (inside * dim.stride - dim.padLow) * inner) *
                                       rows->storedBytes,
                            {until - inside, dim.stride * inner, inner, offsets});
        for (int64_t position = 0; position < dim.positions; ++position) {
          if (!offsets.empty() && position >= inside && position < until)
            continue;
          fillIdentity(values + position * inner * rows->valueBytes, inner);
          const int64_t start = offset + place(last, position);
          eachTap(taps, [&](int64_t tap) {
            rows->combine(values + position * inner * rows->valueBytes,
                          from + (start + tap) * rows->storedBytes, inner);
          });
        }
      }
    });
  }

  /// Calls `body` with the offset of each element, in order; does nothing if a dimension is empty.
  template <typename Body> static void eachTap(std::span<const LoopDim> taps, Body body) {
    int64_t count = 1;
    for (const LoopDim &dim : taps)
      count *= dim.size;
    if (count == 0)
      return;
    OffsetWalk walk(taps, 0);
    for (int64_t i = 0; i < count; ++i, walk.next())
      body(walk.offset());
  }

  void slideBlock(const WindowDim &dim, const std::byte *from, bool isStored, int64_t first,
                  int64_t count, std::byte *values, std::byte *picked) const {
    const int64_t fromBytes = isStored ? rows->storedBytes : rows->valueBytes;
    // The window elements that are inside the input for at least one position of the block.
    const int64_t low = first * dim.stride - dim.padLow;
    const int64_t high = (first + count - 1) * dim.stride - dim.padLow;
    const int64_t begin = high >= 0 ? 0 : (-high + dim.windowDilation - 1) / dim.windowDilation;
    const int64_t end =
        low >= dim.input ? 0 : std::min(dim.size, (dim.input - 1 - low) / dim.windowDilation + 1);
    // A window much larger than the input has few elements in it, at each position other ones.
    if (end - begin > count * dim.input) {
      for (int64_t i = 0; i < count; ++i) {
        const Taps taps = dim.tapsAt(first + i);
        for (int64_t tap = 0; tap < taps.count; ++tap)
          combine(values + i * rows->valueBytes, from + (taps.first + tap * taps.step) * fromBytes,
                  isStored, 1);
      }
      return;
    }
    for (int64_t w = begin; w < end; ++w) {
      // Position first + i reads input element at + i * stride; it is inside for i in [inside,
      // until).
      const int64_t at = low + w * dim.windowDilation;
      const int64_t inside = at >= 0 ? 0 : (-at + dim.stride - 1) / dim.stride;
      const int64_t until =
          at >= dim.input ? 0 : std::min(count, (dim.input - 1 - at) / dim.stride + 1);
      if (inside >= until)
        continue;
      const std::byte *source = from + (at + inside * dim.stride) * fromBytes;
      std::byte *target = values + inside * rows->valueBytes;
      if (dim.stride == 1) {
        combine(target, source, isStored, until - inside);
        continue;
      }
      withCell(fromBytes, [&]<typename Cell>() {
        const auto *cells = reinterpret_cast<const Cell *>(source);
        auto *out = reinterpret_cast<Cell *>(picked);
        if (dim.stride == 2)
          for (int64_t i = 0; i < until - inside; ++i)
            out[i] = cells[2 * i];
        else
          for (int64_t i = 0; i < until - inside; ++i)
            out[i] = cells[i * dim.stride];
      });
      combine(target, picked, isStored, until - inside);
    }
  }

  ElementType operand, result;
  Window window;
  std::vector<size_t> passes; // sliding dimensions, last first
  int64_t inputs = 1, outputs = 1, batch = 1;
  bool inOrder = false;
  std::unique_ptr<RowArithmetic> rows;
};

/// reduce_window with a compiled body, for one input or several.
class ReduceWindowFunctionKernel final : public LibraryKernel {
public:
  ReduceWindowFunctionKernel(const LibrarySignature &signature, Window window, Dims strides)
      : body(signature.bodies[0]), window(std::move(window)), strides(std::move(strides)) {
    for (const WindowDim &dim : this->window) {
      inputs *= dim.input;
      outputs *= dim.positions;
    }
    for (size_t i = 0; i < signature.results.size(); ++i) {
      from.push_back(signature.operands[i].element);
      inits.push_back(signature.operands[signature.results.size() + i].element);
      types.push_back(signature.results[i].element);
      bytes.push_back(static_cast<int64_t>(numerics::storageBytes(types.back())));
    }
  }

  Status run(const LibraryRun &run) const override {
    if (outputs == 0)
      return Status();
    const size_t width = types.size();
    std::vector<Converted> values, starts;
    for (size_t i = 0; i < width; ++i) {
      values.emplace_back(from[i], run.operands[i], types[i], inputs);
      starts.emplace_back(inits[i], run.operands[width + i], types[i], 1);
    }
    run.pool.parallelFor(outputs, 64, [&](int64_t begin, int64_t end) {
      BodyFold fold(body, types);
      std::vector<LoopDim> taps(window.size());
      for (int64_t output = begin; output < end; ++output) {
        int64_t rest = output, first = 0, count = 1;
        for (size_t d = window.size(); d-- > 0;) {
          const Taps here = window[d].tapsAt(rest % window[d].positions);
          rest /= window[d].positions;
          first += here.first * strides[d];
          taps[d] = {here.count, here.step * strides[d]};
          count *= here.count;
        }
        fold.start();
        if (count > 0) {
          OffsetWalk walk(taps, 0);
          for (int64_t k = 0; k < count; ++k, walk.next())
            fold.add(
                [&](size_t i) { return values[i].data() + (first + walk.offset()) * bytes[i]; });
        }
        fold.finishWith([&](size_t i) { return starts[i].data(); });
        for (size_t i = 0; i < width; ++i)
          std::memcpy(run.results[i] + output * bytes[i], fold.value(i),
                      static_cast<size_t>(bytes[i]));
      }
    });
    return Status();
  }

private:
  Body body;
  Window window;
  Dims strides;
  int64_t inputs = 1, outputs = 1;
  std::vector<ElementType> from, inits, types;
  std::vector<int64_t> bytes;
};
} // namespace

KernelResult prepareReduceWindow(const artifact::ReduceWindowCall &call,
                                 const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(checkInputCount(reader));
  TILEWRIGHT_ASSIGN(Shape input, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Window window, windowOf(reader, call, input));
  TILEWRIGHT_TRY(checkCombiner(reader, "body", call.body));
  TILEWRIGHT_TRY(checkInputs(reader, positionsOf(window)));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  if (call.body == Combiner::function) {
    if (types.bodies.size() != 1)
      return reader.failure("must have exactly one body function, got ", types.bodies.size());
    return makeKernel<ReduceWindowFunctionKernel>(types, std::move(window), input.strides());
  }
  std::unique_ptr<RowArithmetic> rows = RowArithmetic::create(call.body, types.results[0].element);
  if (!rows || types.results.size() != 1 || types.operands[0].element != types.operands[1].element)
    return reader.failure("a reduction by '", nameOf(call.body),
                          "' takes one input of a type for which it is "
                          "defined, and an init value of the same type, got ",
                          typeString(types.operands[0]));
  return makeKernel<ReduceWindowKernel>(types.operands[0].element, types.results[0].element,
                                        call.body, std::move(window), std::move(rows));
}

} // namespace tilewright::runtime::cpu
