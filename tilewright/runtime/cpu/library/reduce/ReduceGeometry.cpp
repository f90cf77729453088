#include "tilewright/runtime/cpu/library/reduce/ReduceGeometry.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

ReduceGeometry::ReduceGeometry(const Shape &shape, std::span<const int64_t> dimensions) {
  struct Dim {
    int64_t size, stride;
    bool isReduced;
  };
  std::vector<Dim> dims;
  const Dims strides = shape.strides();
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    const bool isReduced = std::find(dimensions.begin(), dimensions.end(), dim) != dimensions.end();
    const int64_t size = shape[dim];
    (isReduced ? reducedCount : outputs) *= size;
    if (size == 1)
      continue;
    if (!dims.empty() && dims.back().isReduced == isReduced)
      dims.back() = {dims.back().size * size, strides[static_cast<size_t>(dim)], isReduced};
    else
      dims.push_back({size, strides[static_cast<size_t>(dim)], isReduced});
  }
  if (!dims.empty()) {
    last = dims.back().size;
    lastIsReduced = dims.back().isReduced;
    dims.pop_back();
  }
  for (const Dim &dim : dims) {
    (dim.isReduced ? reduced : kept).push_back({dim.size, dim.stride});
    (dim.isReduced ? reducedLoops : keptCount) *= dim.size;
  }
}

Result<ReduceGeometry> reduceGeometryOf(const CallReader &reader, const LibraryCall &call) {
  const size_t count = call.results.size();
  if (count == 0)
    return reader.failure("takes at least one input");
  TILEWRIGHT_TRY(reader.expectCounts(2 * count, count));
  TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Dims dimensions, reader.integers("dimensions"));
  TILEWRIGHT_TRY(reader.checkDims("dimensions", dimensions, shape.rank()));
  const Dims kept = pick(shape.dims(), remaining(shape.rank(), dimensions));
  for (size_t i = 0; i < count; ++i) {
    TILEWRIGHT_ASSIGN(Shape init, reader.operandShape(count + i));
    if (call.operands[i].dims != call.operands[0].dims || init.elementCount() != 1)
      return reader.failure("inputs must have the same shape and init values must be scalars, got ",
                            typeString(call.operands[i]), " and ",
                            typeString(call.operands[count + i]));
    TILEWRIGHT_TRY(reader.expectResult(i, call.results[i].element, kept));
  }
  return ReduceGeometry(shape, dimensions);
}

} // namespace tilewright::runtime::cpu
