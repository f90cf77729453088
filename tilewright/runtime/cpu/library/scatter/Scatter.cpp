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
/// A dimension of the window, strides in elements.
struct WindowLoop {
  int64_t size, target, update;
};

/// Part of a window that lies inside: where it begins and how far it goes.
struct Box {
  int64_t target = 0, update = 0;
  std::vector<WindowLoop> loops;
};

/// Updates in the order of their index vectors; elements that fall outside are left out.
class ScatterKernel final : public LibraryKernel {
public:
  struct Config {
    std::vector<ElementType> inputs, updates, results;
    SliceIndices indices;
    ElementType indexType = ElementType::i32;
    std::vector<WindowLoop> window;     // as the op has it
    std::vector<int64_t> windowOfEntry; // dimension of the window for each entry, or -1
    int64_t count = 0;                  // elements of an input
    Body body = nullptr;
  };

  ScatterKernel(Config config, std::unique_ptr<RowArithmetic> rows)
      : config(std::move(config)), rows(std::move(rows)) {
    // Neighbours on both sides are updated as rows.
    whole.loops = this->config.window;
    collapse(whole.loops);
    if (!whole.loops.empty() && whole.loops.back().target == 1 && whole.loops.back().update == 1) {
      row = whole.loops.back().size;
      whole.loops.pop_back();
    }
    for (const WindowLoop &loop : this->config.window)
      windowCount *= loop.size;
    for (ElementType type : this->config.results)
      bytes.push_back(static_cast<int64_t>(numerics::storageBytes(type)));
    pointsAtOne = std::all_of(
        this->config.windowOfEntry.begin(), this->config.windowOfEntry.end(), [&](int64_t dim) {
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
  /// The result is the input until something is scattered into it.
  void start(const LibraryRun &run, size_t i) const {
    if (run.operands[i] == run.results[i])
      return;
    const Dims all = {config.count}, one = {1};
    const Converted input(config.inputs[i], run.operands[i], config.results[i], config.count);
    CopyPlan(all, one, one, static_cast<size_t>(bytes[i]))
        .run(input.data(), run.results[i], run.pool);
  }

  static void collapse(std::vector<WindowLoop> &loops) {
    std::erase_if(loops, [](const WindowLoop &loop) { return loop.size == 1; });
    for (size_t i = loops.size(); i-- > 1;) {
      const WindowLoop inner = loops[i];
      WindowLoop &outer = loops[i - 1];
      if (outer.target != inner.target * inner.size || outer.update != inner.update * inner.size)
        continue;
      outer = {outer.size * inner.size, inner.target, inner.update};
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Where the window of an index vector begins if all of it lies inside.
  template <typename Index> std::optional<int64_t> inside(const Index *index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < config.indices.entries.size(); ++i) {
      const SliceIndices::Entry &entry = config.indices.entries[i];
      const int64_t dim = config.windowOfEntry[i];
      const int64_t size = dim < 0 ? 1 : config.window[static_cast<size_t>(dim)].size;
      const auto at = static_cast<int64_t>(index[entry.indices]);
      if (at < 0 || at > entry.size - size)
        return std::nullopt;
      offset += at * entry.stride;
    }
    return offset;
  }

  /// The part of it that does, relative to the batch's offsets; nothing if none does.
  template <typename Index> std::optional<Box> clipped(const Index *index) const {
    Box box;
    box.loops = config.window;
    for (size_t i = 0; i < config.indices.entries.size(); ++i) {
      const SliceIndices::Entry &entry = config.indices.entries[i];
      const int64_t dim = config.windowOfEntry[i];
      const int64_t size = dim < 0 ? 1 : config.window[static_cast<size_t>(dim)].size;
      const auto at = static_cast<int64_t>(index[entry.indices]);
      // Compared before they are added: an index may be any int64.
      if (at <= -size || at >= entry.size)
        return std::nullopt;
      const int64_t low = at < 0 ? -at : 0, high = std::min(size, entry.size - at);
      box.target += (at + low) * entry.stride;
      if (dim >= 0) {
        WindowLoop &loop = box.loops[static_cast<size_t>(dim)];
        box.update += low * loop.update;
        loop.size = high - low;
      }
    }
    return box;
  }

  /// Calls body(target, update, count) for runs of a box: count elements, or one where the
  /// strides do not allow more.
  template <typename Body> static void forEachRun(const Box &box, Body &&body) {
    std::vector<WindowLoop> loops = box.loops;
    collapse(loops);
    int64_t count = 1;
    if (!loops.empty() && loops.back().target == 1 && loops.back().update == 1) {
      count = loops.back().size;
      loops.pop_back();
    }
    visit(loops, box.target, box.update,
          [&](int64_t target, int64_t update) { body(target, update, count); });
  }
  template <typename Body>
  static void visit(std::span<const WindowLoop> loops, int64_t target, int64_t update,
                    Body &&body) {
    if (loops.empty()) {
      body(target, update);
      return;
    }
    for (int64_t i = 0; i < loops[0].size; ++i)
      visit(loops.subspan(1), target + i * loops[0].target, update + i * loops[0].update, body);
  }

  /// Index vectors may be empty and then have no memory to point into.
  template <typename Index> const Index *vectorAt(const Index *index, int64_t at) const {
    return config.indices.entries.empty() ? index : index + at;
  }

  /// Calls body(index vector, target, update) with the batch's offsets, in order.
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

  /// Windows of one element: a list of places, a stretch at a time.
  template <typename Index>
  void applyElements(const Index *index, std::byte *target, const std::byte *updates) const {
    const SliceIndices::Loop inner = config.indices.loops.back();
    config.indices.forEachRun(
        0, config.indices.count, [&](int64_t at, int64_t sliced, int64_t dense, int64_t n) {
          if (config.indices.entries.size() == 1 && inner.sliced == 0) {
            const SliceIndices::Entry &entry = config.indices.entries[0];
            rows->updateAt(target + sliced * bytes[0], entry.stride, entry.size,
                           index + at + entry.indices, inner.indices, updates + dense * bytes[0],
                           inner.dense, n);
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
    // Windows that begin at different places have no element in common if an index points at
    // one place of its dimension. Then each thread takes some of the places and all vectors.
    const bool splits = pointsAtOne && config.indices.count > 1 &&
                        config.indices.count * windowCount >= 1 << 15 && windowCount >= 64;
    const int64_t parts = splits ? 4 * int64_t(pool.threadCount()) : 1;
    pool.parallelFor(parts, 1, [&](int64_t firstPart, int64_t lastPart) {
      const int64_t begin = config.count * firstPart / parts, end = config.count * lastPart / parts;
      forEachVector(index, [&](const Index *vector, int64_t sliced, int64_t dense) {
        if (std::optional<int64_t> place = inside(vector)) {
          const int64_t to = sliced + *place;
          if (to < begin || to >= end)
            return;
          visit(whole.loops, to, dense, [&](int64_t at, int64_t update) {
            rows->update(target + at * bytes[0], updates + update * bytes[0], row);
          });
          return;
        }
        // Only windows larger than one place can be partly inside.
        std::optional<Box> box = clipped(vector);
        if (!box || (parts > 1 && (box->target + sliced < begin || box->target + sliced >= end)))
          return;
        box->target += sliced;
        box->update += dense;
        forEachRun(*box, [&](int64_t at, int64_t update, int64_t n) {
          rows->update(target + at * bytes[0], updates + update * bytes[0], n);
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
      std::optional<Box> box = clipped(vector);
      if (!box)
        return;
      visit(box->loops, box->target + sliced, box->update + dense, [&](int64_t at, int64_t update) {
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
  std::unique_ptr<RowArithmetic> rows; // null if a body is called
  Box whole;                           // collapsed, without the row
  int64_t row = 1;                     // neighbours on both sides
  int64_t windowCount = 1;
  bool pointsAtOne;
  std::vector<int64_t> bytes;
};
} // namespace

KernelResult prepareScatter(const LibraryCall &call) {
  CallReader reader(call);
  const size_t count = call.results.size();
  if (count == 0)
    return reader.failure("takes at least one input");
  TILEWRIGHT_TRY(reader.expectCounts(2 * count + 1, count));
  TILEWRIGHT_ASSIGN(Shape input, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape indicesShape, reader.operandShape(count));
  TILEWRIGHT_ASSIGN(Shape update, reader.operandShape(count + 1));
  TILEWRIGHT_ASSIGN(Dims windowDims, reader.integers("update_window_dims"));
  TILEWRIGHT_ASSIGN(Dims insertedDims, reader.integers("inserted_window_dims"));
  SliceIndexDimensions dimensions;
  TILEWRIGHT_ASSIGN(dimensions.slicedDims, reader.integers("scatter_dims_to_operand_dims"));
  TILEWRIGHT_ASSIGN(dimensions.slicedBatchingDims, reader.integersOr("input_batching_dims", {}));
  TILEWRIGHT_ASSIGN(dimensions.indicesBatchingDims,
                    reader.integersOr("scatter_indices_batching_dims", {}));
  TILEWRIGHT_ASSIGN(dimensions.indexVectorDim, reader.integer("index_vector_dim"));
  TILEWRIGHT_ASSIGN(CombineOp op, combineOpOf(reader, "body"));

  const Dims inserted = joined({insertedDims, dimensions.slicedBatchingDims});
  TILEWRIGHT_TRY(reader.checkDims("inserted and batching dimensions", inserted, input.rank()));
  TILEWRIGHT_TRY(reader.checkDims("update_window_dims", windowDims, update.rank()));
  const Dims kept = remaining(input.rank(), inserted);
  if (kept.size() != windowDims.size())
    return reader.failure("update_window_dims must name a dimension for each of the ", kept.size(),
                          " of a window, got ", windowDims.size());
  const Dims scatterDims = remaining(update.rank(), windowDims);
  TILEWRIGHT_ASSIGN(Dims batchSizes, SliceIndices::batchSizes(reader, call.operands[count],
                                                              dimensions.indexVectorDim));
  if (pick(update.dims(), scatterDims) != batchSizes)
    return reader.failure("updates must have one window for each of the ", listed(batchSizes),
                          " index vectors, got ", listed(pick(update.dims(), scatterDims)));

  ScatterKernel::Config config;
  const Dims strides = input.strides(), updateStrides = update.strides();
  for (size_t i = 0; i < kept.size(); ++i) {
    const int64_t size = update[windowDims[i]];
    if (size > input[kept[i]])
      return reader.failure("the window of the updates has size ", size, " in dimension ", kept[i],
                            ", where the input has ", input[kept[i]]);
    config.window.push_back({size, strides[static_cast<size_t>(kept[i])],
                             updateStrides[static_cast<size_t>(windowDims[i])]});
  }
  TILEWRIGHT_ASSIGN(config.indices,
                    SliceIndices::create(reader, input, call.operands[count], dimensions,
                                         pick(updateStrides, scatterDims)));
  for (const SliceIndices::Entry &entry : config.indices.entries) {
    const auto at = std::find(kept.begin(), kept.end(), entry.dim);
    config.windowOfEntry.push_back(at == kept.end() ? -1 : at - kept.begin());
  }
  config.indexType = call.operands[count].element;
  config.count = input.elementCount();
  for (size_t i = 0; i < count; ++i) {
    if (call.operands[i].dims != call.operands[0].dims ||
        call.operands[count + 1 + i].dims != call.operands[count + 1].dims)
      return reader.failure("inputs must have one shape, and updates must have one shape");
    config.inputs.push_back(call.operands[i].element);
    config.updates.push_back(call.operands[count + 1 + i].element);
    config.results.push_back(call.results[i].element);
    TILEWRIGHT_TRY(reader.expectResult(i, call.results[i].element, input.dims()));
  }
  if (op == CombineOp::function) {
    if (call.bodies.size() != 1)
      return reader.failure("a body that is a function is bound once, got ", call.bodies.size());
    config.body = call.bodies[0];
    return makeKernel<ScatterKernel>(std::move(config), nullptr);
  }
  std::unique_ptr<RowArithmetic> rows = RowArithmetic::create(op, call.results[0].element);
  if (!rows || count != 1)
    return reader.failure("takes one input with a body that is defined for its type, got ",
                          typeString(call.operands[0]));
  return makeKernel<ScatterKernel>(std::move(config), std::move(rows));
}

} // namespace tilewright::runtime::cpu
