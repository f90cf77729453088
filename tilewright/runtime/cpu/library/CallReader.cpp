#include "tilewright/runtime/cpu/library/CallReader.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

Status CallReader::expectCounts(size_t operands, size_t results) const {
  if (types.operands.size() == operands && types.results.size() == results)
    return Status();
  return failure("takes ", operands, " operands and returns ", results, " results, got ",
                 types.operands.size(), " and ", types.results.size());
}

Result<Shape> CallReader::shapeOf(std::span<const TensorType> values, size_t index) const {
  if (index >= values.size())
    return failure("has only ", values.size(), " operands or results, but needs number ", index);
  Result<Shape> shape = Shape::create(values[index].dims);
  if (!shape.isOk())
    return failure("type ", typeString(values[index]), " has an invalid shape");
  return shape;
}

Status CallReader::checkDims(std::string_view what, std::span<const int64_t> dims,
                             int64_t rank) const {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0 || dims[i] >= rank || std::count(dims.begin(), dims.begin() + i, dims[i]) > 0)
      return failure(what, " must be distinct numbers in [0, ", rank, "), got ", listed(dims));
  return Status();
}

Status CallReader::expectResult(size_t index, ElementType element,
                                std::span<const int64_t> dims) const {
  const TensorType expected{element, Dims(dims.begin(), dims.end())};
  if (index < types.results.size() && types.results[index] == expected)
    return Status();
  return failure("result ", index, " must be ", typeString(expected), ", got ",
                 index < types.results.size() ? typeString(types.results[index]) : "none");
}

std::string typeString(const TensorType &type) {
  return concat(numerics::spelling(type.element), listed(type.dims));
}

} // namespace tilewright::runtime::cpu
