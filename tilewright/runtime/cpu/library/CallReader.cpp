#include "tilewright/runtime/cpu/library/Attributes.h"

#include "tilewright/numerics/scalar/Scalar.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

using artifact::Elements;

const Attribute *CallReader::find(std::string_view name) const {
  for (const Attribute &attribute : call.attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

/// The elements of an attribute, if its bytes are a multiple of the element size.
static const Elements *elementsOf(const Attribute *attribute) {
  const auto *elements = attribute ? std::get_if<Elements>(&attribute->value) : nullptr;
  if (!elements || elements->bytes.size() % numerics::storageBytes(elements->type) != 0)
    return nullptr;
  return elements;
}

Result<Dims> CallReader::integers(std::string_view name) const {
  const Attribute *attribute = find(name);
  if (!attribute)
    return failure("attribute '", name, "' is missing");
  const Elements *elements = elementsOf(attribute);
  const bool fits = elements && (numerics::isInteger(elements->type) ||
                                 elements->type == ElementType::pred || elements->bytes.empty());
  if (!fits)
    return failure("attribute '", name, "' must hold integers");
  const size_t bytes = numerics::storageBytes(elements->type);
  Dims values;
  for (size_t at = 0; at < elements->bytes.size(); at += bytes)
    values.push_back(numerics::loadScalar(elements->type, &elements->bytes[at]).i);
  return values;
}

Result<Dims> CallReader::integersOr(std::string_view name, Dims otherwise) const {
  return has(name) ? integers(name) : Result<Dims>(std::move(otherwise));
}

Result<int64_t> CallReader::integer(std::string_view name) const {
  TILEWRIGHT_ASSIGN(Dims values, integers(name));
  if (values.size() != 1)
    return failure("attribute '", name, "' must be one integer, got ", values.size());
  return values[0];
}

Result<int64_t> CallReader::integerOr(std::string_view name, int64_t otherwise) const {
  return has(name) ? integer(name) : Result<int64_t>(otherwise);
}

Result<bool> CallReader::flagOr(std::string_view name, bool otherwise) const {
  TILEWRIGHT_ASSIGN(int64_t value, integerOr(name, otherwise));
  return value != 0;
}

Result<double> CallReader::real(std::string_view name) const {
  const Elements *elements = elementsOf(find(name));
  const bool isOne = elements && elements->bytes.size() == numerics::storageBytes(elements->type);
  if (!isOne || numerics::isComplex(elements->type))
    return failure("attribute '", name, "' must be one number");
  const numerics::Scalar value = numerics::loadScalar(elements->type, elements->bytes.data());
  if (numerics::isReal(elements->type))
    return value.r;
  return numerics::isSigned(elements->type) ? static_cast<double>(value.i)
                                            : static_cast<double>(value.u);
}

Result<std::string_view> CallReader::text(std::string_view name) const {
  const Attribute *attribute = find(name);
  if (!attribute)
    return failure("attribute '", name, "' is missing");
  if (const auto *value = std::get_if<std::string>(&attribute->value))
    return std::string_view(*value);
  return failure("attribute '", name, "' must be a string");
}

Result<std::string_view> CallReader::textOr(std::string_view name,
                                            std::string_view otherwise) const {
  return has(name) ? text(name) : Result<std::string_view>(otherwise);
}

Status CallReader::expectCounts(size_t operands, size_t results) const {
  if (call.operands.size() == operands && call.results.size() == results)
    return Status();
  return failure("takes ", operands, " operands and gives ", results, " results, got ",
                 call.operands.size(), " and ", call.results.size());
}

Result<Shape> CallReader::shapeOf(std::span<const TensorType> types, size_t index) const {
  if (index >= types.size())
    return failure("has too few operands or results: number ", index, " of ", types.size());
  Result<Shape> shape = Shape::create(types[index].dims);
  if (!shape.isOk())
    return failure("type ", typeString(types[index]), " has no valid size");
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
  if (index < call.results.size() && call.results[index] == expected)
    return Status();
  return failure("result ", index, " must be ", typeString(expected), ", got ",
                 index < call.results.size() ? typeString(call.results[index]) : "none");
}

std::string typeString(const TensorType &type) {
  return concat(numerics::spelling(type.element), listed(type.dims));
}

Dims pick(std::span<const int64_t> values, std::span<const int64_t> dims) {
  Dims picked;
  for (int64_t dim : dims)
    picked.push_back(values[static_cast<size_t>(dim)]);
  return picked;
}

Dims remaining(int64_t rank, std::span<const int64_t> dims) {
  Dims rest;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (std::find(dims.begin(), dims.end(), dim) == dims.end())
      rest.push_back(dim);
  return rest;
}

Dims joined(std::initializer_list<std::span<const int64_t>> lists) {
  Dims all;
  for (std::span<const int64_t> list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

} // namespace tilewright::runtime::cpu
