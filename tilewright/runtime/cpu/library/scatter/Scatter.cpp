// scatter.
#include "tilewright/runtime/cpu/library/movement/CopyPlan.h"
#include "tilewright/runtime/cpu/library/movement/IndexValues.h"
#include "tilewright/runtime/cpu/library/movement/SliceIndices.h"
#include "tilewright/runtime/cpu/library/reduce/Converted.h"
#include "tilewright/runtime/cpu/library/rows/RowArithmetic.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace tilewright::runtime::cpu {

namespace {
/// Applies updates in the order of their index vectors. Skips a window entirely if any part of it
/// is out of bounds, as JAX promises (docs/design/out-of-bounds.md).
class ScatterKernel final : public LibraryKernel {
public:
  struct Config {
    std::vector<ElementType> inputs, updates, results;
    SliceIndices indices;
    ElementType indexType = ElementType::i32;
    std::vector<CopyLoop> window; // as the op specifies it, from the updates; strides in elements
    std::vector<int64_t>
        windowOfComponent; // by index vector component: the dimension of the window, or -1
    int64_t count = 0;     // elements of an input
    Body body = nullptr;
  };

  ScatterKernel(Config config, std::unique_ptr<RowArithmetic> rows)
      : config(std::move(config)), rows(std::move(rows)) {
    // Process elements that are contiguous in the updates and in the operand as one row.
    loops = this->config.window;
    std::erase_if(loops, [](const CopyLoop &loop) { return loop.size == 1; });
    mergeLoops(loops);
    if (!loops.empty() && loops.back().from == 1 && loops.back().to == 1) {
      row = loops.back().size;
      loops.pop_back();
    }
    for (const CopyLoop &loop : this->config.window)
      windowCount *= loop.size;
    for (ElementType type : this->config.results)
      bytes.push_back(static_cast<int64_t>(numerics::storageBytes(type)));
    pointsAtOne =
        std::all_of(this->config.windowOfComponent.begin(), this->config.windowOfComponent.end(),
                    [&](int64_t dim) {
                      return dim < 0 || this->config.window[static_cast<size_t>(dim)].size == 1;
                    });
  }

  Status run(const LibraryRun &run) const override {
    const size_t width = config.results.size();
    std::vector<Converted> updates;
    for (size_t i = 0; i < width; ++i) {
      start(run, i);
      updates.emplace_back(config.updates[i], run.operands[width + 1 + i], config.results[i],
                           config.indices.count * windowCount);
    }
    if (config.indices.count * windowCount == 0 || config.count == 0)
      return Status();
    const IndexValues values(config.indexType, run.operands[width], config.indices.indexElements);
    values.visit([&](const auto *index) {
      if (config.body)
        applyFunction(index, run, updates);
      else if (windowCount == 1)
        applyElements(index, run.results[0], updates[0].data());
      else
        applyWindows(index, run.results[0], updates[0].data(), run.pool);
    });
    return Status();
  }

private:
  /// Initialises the result with the input, unless they share memory.
  void start(const LibraryRun &run, size_t i) const {
    if (run.operands[i] == run.results[i])
      return;
    const Dims all = {config.count}, one = {1};
    const Converted input(config.inputs[i], run.operands[i], config.results[i], config.count);
    CopyPlan(all, one, one, static_cast<size_t>(bytes[i]))
        .run(input.data(), run.results[i], run.pool);
  }

  /// The offset of the window of an index vector, if all of it is in bounds.
  template <typename Index> std::optional<int64_t> inside(const Index *index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < config.indices.components.size(); ++i) {
      const SliceIndices::Component &component = config.indices.components[i];
      const int64_t dim = config.windowOfComponent[i];
      const int64_t size = dim < 0 ? 1 : config.window[static_cast<size_t>(dim)].size;
      const auto at = static_cast<int64_t>(index[component.indices]);
      if (at < 0 || at > component.size - size)
        return std::nullopt;
      offset += at * component.stride;
    }
    return offset;
  }

  template <typename Body>
  static void visit(std::span<const CopyLoop> loops, int64_t target, int64_t update, Body &&body) {
    if (loops.empty()) {
      body(target, update);
      return;
    }
    for (int64_t i = 0; i < loops[0].size; ++i)
      visit(loops.subspan(1), target + i * loops[0].to, update + i * loops[0].from, body);
  }

  /// Empty index vectors have no memory, so `at` must not be added.
  template <typename Index> const Index *vectorAt(const Index *index, int64_t at) const {
    return config.indices.components.empty() ? index : index + at;
  }

  /// Calls body(index vector, target, update) for all index vectors in order, with the offsets of
  /// the vector's batch in the target and in the updates.
  template <typename Index, typename Body>
  void forEachVector(const Index *index, Body &&body) const {
    const SliceIndices::Loop inner = config.indices.loops.back();
    config.indices.forEachRun(0, config.indices.count,
                              [&](int64_t at, int64_t sliced, int64_t dense, int64_t n) {
                                for (int64_t i = 0; i < n; ++i)
                                  body(vectorAt(index, at + i * inner.indices),
                                       sliced + i * inner.sliced, dense + i * inner.dense);
                              });
  }

  /// Scatters windows of one element: computes the target positions of a block of index vectors,
  /// then updates them together.
  template <typename Index>
  void applyElements(const Index *index, std::byte *target, const std::byte *updates) const {
    const SliceIndices::Loop inner = config.indices.loops.back();
    config.indices.forEachRun(
        0, config.indices.count, [&](int64_t at, int64_t sliced, int64_t dense, int64_t n) {
          if (config.indices.components.size() == 1 && inner.sliced == 0) {
            const SliceIndices::Component &component = config.indices.components[0];
            rows->updateAt(target + sliced * bytes[0], component.stride, component.size,
                           index + at + component.indices, inner.indices,
                           updates + dense * bytes[0], inner.dense, n);
            return;
          }
          constexpr int64_t most = 512;
          int64_t places[most];
          for (int64_t begin = 0; begin < n; begin += most) {
            const int64_t now = std::min(most, n - begin);
            for (int64_t i = 0; i < now; ++i) {
              const std::optional<int64_t> place =
                  inside(vectorAt(index, at + (begin + i) * inner.indices));
              places[i] = place ? *place + sliced + (begin + i) * inner.sliced : -1;
            }
            rows->updateAt(target, 1, config.count, places, 1,
                           updates + (dense + begin * inner.dense) * bytes[0], inner.dense, now);
          }
        });
  }

  template <typename Index>
  void applyWindows(const Index *index, std::byte *target, const std::byte *updates,
                    ThreadPool &pool) const {
    // If each index selects a single position of its dimension, windows that begin at different
    // positions are disjoint. Then each thread processes all index vectors, but only a range of the
    // positions.
    const bool splits = pointsAtOne && config.indices.count > 1 &&
                        config.indices.count * windowCount >= 1 << 15 && windowCount >= 64;
    const int64_t parts = splits ? 4 * int64_t(pool.threadCount()) : 1;
    pool.parallelFor(parts, 1, [&](int64_t firstPart, int64_t lastPart) {
      const int64_t begin = config.count * firstPart / parts, end = config.count * lastPart / parts;
      forEachVector(index, [&](const Index *vector, int64_t sliced, int64_t dense) {
        const std::optional<int64_t> place = inside(vector);
        if (!place || sliced + *place < begin || sliced + *place >= end)
          return;
        visit(loops, sliced + *place, dense, [&](int64_t at, int64_t update) {
          rows->update(target + at * bytes[0], updates + update * bytes[0], row);
        });
      });
    });
  }

  template <typename Index>
  void applyFunction(const Index *index, const LibraryRun &run,
                     const std::vector<Converted> &updates) const {
    const size_t width = config.results.size();
    std::vector<const void *> arguments(2 * width);
    std::vector<void *> results(width);
    std::vector<std::byte> out(16 * width);
    forEachVector(index, [&](const Index *vector, int64_t sliced, int64_t dense) {
      const std::optional<int64_t> place = inside(vector);
      if (!place)
        return;
      visit(config.window, sliced + *place, dense, [&](int64_t at, int64_t update) {
        for (size_t i = 0; i < width; ++i) {
          arguments[i] = run.results[i] + at * bytes[i];
          arguments[width + i] = updates[i].data() + update * bytes[i];
          results[i] = &out[16 * i];
        }
        config.body(arguments.data(), results.data());
        for (size_t i = 0; i < width; ++i)
          std::memcpy(run.results[i] + at * bytes[i], results[i], static_cast<size_t>(bytes[i]));
      });
    });
  }

  Config config;
  std::unique_ptr<RowArithmetic> rows; // null if a body combines
  std::vector<CopyLoop> loops;         // of the window, collapsed, without the contiguous row
  int64_t row = 1;                     // elements that are contiguous on both sides
  int64_t windowCount = 1;
  bool pointsAtOne;
  std::vector<int64_t> bytes;
};
} // namespace

KernelResult prepareScatter(const artifact::ScatterCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  const size_t count = types.results.size();
  if (count == 0)
    return reader.failure("must have at least one input");
  TILEWRIGHT_TRY(reader.expectCounts(2 * count + 1, count));
  TILEWRIGHT_ASSIGN(Shape input, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape indicesShape, reader.operandShape(count));
  TILEWRIGHT_ASSIGN(Shape update, reader.operandShape(count + 1));
  const Dims &windowDims = call.updateWindowDims;
  const SliceIndexDimensions dimensions{.slicedDims = call.scatterDimsToOperandDims,
                                        .slicedBatchingDims = call.inputBatchingDims,
                                        .indicesBatchingDims = call.scatterIndicesBatchingDims,
                                        .indexVectorDim = call.indexVectorDim};
  TILEWRIGHT_TRY(checkCombiner(reader, "body", call.body));

  const Dims inserted = joined({call.insertedWindowDims, call.inputBatchingDims});
  TILEWRIGHT_TRY(reader.checkDims("inserted and batching dimensions", inserted, input.rank()));
  TILEWRIGHT_TRY(reader.checkDims("update_window_dims", windowDims, update.rank()));
  const Dims kept = remaining(input.rank(), inserted);
  if (kept.size() != windowDims.size())
    return reader.failure("update_window_dims must have one entry for each of the ", kept.size(),
                          " window dimensions, got ", windowDims.size());
  const Dims scatterDims = remaining(update.rank(), windowDims);
  TILEWRIGHT_ASSIGN(Dims batchSizes, SliceIndices::batchSizes(reader, types.operands[count],
                                                              dimensions.indexVectorDim));
  if (pick(update.dims(), scatterDims) != batchSizes)
    return reader.failure("updates must have one window for each of the ", listed(batchSizes),
                          " index vectors, got ", listed(pick(update.dims(), scatterDims)));

  ScatterKernel::Config config;
  const Dims strides = input.strides(), updateStrides = update.strides();
  for (size_t i = 0; i < kept.size(); ++i) {
    const int64_t size = update[windowDims[i]];
    if (size > input[kept[i]])
      return reader.failure("the update window has size ", size, " in dimension ", kept[i],
                            ", but the input has only ", input[kept[i]]);
    config.window.push_back({size, updateStrides[static_cast<size_t>(windowDims[i])],
                             strides[static_cast<size_t>(kept[i])]});
  }
  TILEWRIGHT_ASSIGN(config.indices,
                    SliceIndices::create(reader, input, types.operands[count], dimensions,
                                         pick(updateStrides, scatterDims)));
  for (const SliceIndices::Component &component : config.indices.components) {
    const auto at = std::find(kept.begin(), kept.end(), component.dim);
    config.windowOfComponent.push_back(at == kept.end() ? -1 : at - kept.begin());
  }
  config.indexType = types.operands[count].element;
  config.count = input.elementCount();
  for (size_t i = 0; i < count; ++i) {
    if (types.operands[i].dims != types.operands[0].dims ||
        types.operands[count + 1 + i].dims != types.operands[count + 1].dims)
      return reader.failure(
          "all inputs must have the same shape, and all updates must have the same shape");
    config.inputs.push_back(types.operands[i].element);
    config.updates.push_back(types.operands[count + 1 + i].element);
    config.results.push_back(types.results[i].element);
    TILEWRIGHT_TRY(reader.expectResult(i, types.results[i].element, input.dims()));
  }
  if (call.body == Combiner::function) {
    if (types.bodies.size() != 1)
      return reader.failure("must have exactly one body function, got ", types.bodies.size());
    config.body = types.bodies[0];
    return makeKernel<ScatterKernel>(std::move(config), nullptr);
  }
  std::unique_ptr<RowArithmetic> rows = RowArithmetic::create(call.body, types.results[0].element);
  if (!rows || count != 1)
    return reader.failure("a scatter by '", nameOf(call.body),
                          "' takes one input of a type for which it is defined, got ",
                          typeString(types.operands[0]));
  return makeKernel<ScatterKernel>(std::move(config), std::move(rows));
}

} // namespace tilewright::runtime::cpu
