// reduce with a compiled body.
#include "tilewright/runtime/cpu/library/reduce/Converted.h"
#include "tilewright/runtime/cpu/library/reduce/ReduceGeometry.h"
#include "tilewright/runtime/cpu/library/rows/BodyFold.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

namespace {
class ReduceFunctionKernel final : public LibraryKernel {
public:
  ReduceFunctionKernel(const LibrarySignature &signature, ReduceGeometry geometry)
      : body(signature.bodies[0]), geometry(std::move(geometry)) {
    for (size_t i = 0; i < signature.results.size(); ++i) {
      from.push_back(signature.operands[i].element);
      inits.push_back(signature.operands[signature.results.size() + i].element);
      types.push_back(signature.results[i].element);
      bytes.push_back(static_cast<int64_t>(numerics::storageBytes(types.back())));
    }
    // The loops over reduced dimensions, including the contiguous one if it is reduced.
    steps = this->geometry.reduced;
    places = this->geometry.kept;
    (this->geometry.lastIsReduced ? steps : places).push_back({this->geometry.last, 1});
  }

  Status run(const LibraryRun &run) const override {
    const size_t width = types.size();
    if (geometry.outputs == 0)
      return Status();
    std::vector<Converted> inputs, starts;
    for (size_t i = 0; i < width; ++i) {
      inputs.emplace_back(from[i], run.operands[i], types[i],
                          geometry.outputs * geometry.reducedCount);
      starts.emplace_back(inits[i], run.operands[width + i], types[i], 1);
    }
    auto init = [&](size_t i) { return starts[i].data(); };
    auto fold = [&](BodyFold &fold, int64_t output, int64_t begin, int64_t end) {
      const int64_t place = offsetOf(places, output);
      fold.start();
      if (begin == end)
        return;
      OffsetWalk walk(steps, begin);
      for (int64_t k = begin; k < end; ++k, walk.next())
        fold.add([&](size_t i) { return inputs[i].data() + (place + walk.offset()) * bytes[i]; });
    };
    auto store = [&](BodyFold &fold, int64_t output) {
      fold.finishWith(init);
      for (size_t i = 0; i < width; ++i)
        std::memcpy(run.results[i] + output * bytes[i], fold.value(i),
                    static_cast<size_t>(bytes[i]));
    };
    const int64_t count = geometry.reducedCount;
    constexpr int64_t pieceSize = 1 << 13;
    const int64_t pieces = (count + pieceSize - 1) / pieceSize;
    if (pieces <= 1 || geometry.outputs >= 16) {
      const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, count));
      run.pool.parallelFor(geometry.outputs, grain, [&](int64_t begin, int64_t end) {
        BodyFold folding(body, types);
        for (int64_t output = begin; output < end; ++output) {
          fold(folding, output, 0, count);
          store(folding, output);
        }
      });
      return Status();
    }
    // Few results of many elements: reduce pieces in parallel, then combine the pieces.
    std::vector<std::vector<std::byte>> partial;
    for (size_t i = 0; i < width; ++i)
      partial.emplace_back(static_cast<size_t>(geometry.outputs * pieces * bytes[i]));
    run.pool.parallelFor(geometry.outputs * pieces, 1, [&](int64_t begin, int64_t end) {
      BodyFold folding(body, types);
      for (int64_t k = begin; k < end; ++k) {
        const int64_t first = k % pieces * pieceSize;
        fold(folding, k / pieces, first, std::min(first + pieceSize, count));
        folding.finish();
        for (size_t i = 0; i < width; ++i)
          std::memcpy(partial[i].data() + k * bytes[i], folding.value(i),
                      static_cast<size_t>(bytes[i]));
      }
    });
    BodyFold folding(body, types);
    for (int64_t output = 0; output < geometry.outputs; ++output) {
      folding.start();
      for (int64_t k = output * pieces; k < (output + 1) * pieces; ++k)
        folding.add([&](size_t i) { return partial[i].data() + k * bytes[i]; });
      store(folding, output);
    }
    return Status();
  }

private:
  Body body;
  ReduceGeometry geometry;
  std::vector<ElementType> from, inits, types;
  std::vector<int64_t> bytes;
  std::vector<LoopDim> steps, places;
};
} // namespace

KernelResult prepareReduceFunction(const CallReader &reader, ReduceGeometry geometry) {
  const LibrarySignature &types = reader.types;
  if (types.bodies.size() != 1)
    return reader.failure("must have exactly one body function, got ", types.bodies.size());
  return makeKernel<ReduceFunctionKernel>(types, std::move(geometry));
}

} // namespace tilewright::runtime::cpu
