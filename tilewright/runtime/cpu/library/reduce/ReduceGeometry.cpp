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

Status checkInputCount(const CallReader &reader) {
  const size_t count = reader.types.results.size();
  if (count == 0)
    return reader.failure("must have at least one input");
  return reader.expectCounts(2 * count, count);
}

Status checkInputs(const CallReader &reader, const Dims &resultDims) {
  const LibrarySignature &types = reader.types;
  const size_t count = types.results.size();
  for (size_t i = 0; i < count; ++i) {
    TILEWRIGHT_ASSIGN(Shape init, reader.operandShape(count + i));
    if (types.operands[i].dims != types.operands[0].dims || init.elementCount() != 1)
      return reader.failure("inputs must have the same shape and init values must be scalars, got ",
                            typeString(types.operands[i]), " and ",
                            typeString(types.operands[count + i]));
    TILEWRIGHT_TRY(reader.expectResult(i, types.results[i].element, resultDims));
  }
  return Status();
}

Result<ReduceGeometry> reduceGeometryOf(const CallReader &reader,
                                        std::span<const int64_t> dimensions) {
  TILEWRIGHT_TRY(checkInputCount(reader));
  TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(0));
  TILEWRIGHT_TRY(reader.checkDims("dimensions", dimensions, shape.rank()));
  TILEWRIGHT_TRY(checkInputs(reader, pick(shape.dims(), remaining(shape.rank(), dimensions))));
  return ReduceGeometry(shape, dimensions);
}

} // namespace tilewright::runtime::cpu
