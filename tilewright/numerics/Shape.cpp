#include "tilewright/numerics/Shape.h"

#include "tilewright/support/Concat.h"

namespace tilewright::numerics {

/// The maximum number of elements: at 16 bytes each, their bytes still fit 63 bits.
static constexpr int64_t maxElements = (int64_t(1) << 59) - 1;

Result<Shape> Shape::create(std::span<const int64_t> dims) {
  Shape shape;
  shape.sizes.assign(dims.begin(), dims.end());
  bool empty = false;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    if (dims[dim] < 0)
      return Status(Code::invalidArgument, concat("dimension ", dim, " of ", listed(dims),
                                                  " must not be negative, got ", dims[dim]));
    empty |= dims[dim] == 0;
  }
  if (empty) {
    shape.count = 0;
    return shape;
  }
  for (int64_t size : dims)
    if (__builtin_mul_overflow(shape.count, size, &shape.count) || shape.count > maxElements)
      return Status(Code::outOfRange,
                    concat("shape ", listed(dims), " has more than ", maxElements, " elements"));
  return shape;
}

std::vector<int64_t> Shape::strides() const {
  std::vector<int64_t> result(sizes.size(), 1);
  // An empty shape needs no strides, and its partial products may overflow: 0 x 2^62 x 2^62 is a
  // valid shape.
  if (count == 0)
    return result;
  for (size_t dim = sizes.size(); dim > 1; --dim)
    result[dim - 2] = result[dim - 1] * sizes[dim - 1];
  return result;
}

std::string Shape::toString() const {
  if (sizes.empty())
    return "scalar";
  std::string text;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    text += concat(dim ? "x" : "", sizes[dim]);
  return text;
}

} // namespace tilewright::numerics
