#include "tilewright/interpret/kernels/Indexing.h"

#include "tilewright/interpret/kernels/StridedCopy.h"
#include "tilewright/numerics/Convert.h"
#include "tilewright/support/Concat.h"

#include <limits>

namespace tilewright::interpret {

int64_t saturatingProduct(std::span<const int64_t> factors) {
  int64_t product = 1;
  bool overflow = false;
  for (int64_t factor : factors) {
    if (factor == 0)
      return 0;
    overflow |= __builtin_mul_overflow(product, factor, &product);
  }
  return overflow ? std::numeric_limits<int64_t>::max() : product;
}

Status checkDims(std::string_view op, std::string_view what, std::span<const int64_t> dims,
                 int64_t rank) {
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return Status(Error::interpretShape,
                    concat(op, ": ", what, " must be in [0, ", rank, "), got ", dim));
    if (seen[static_cast<size_t>(dim)])
      return Status(Error::interpretShape,
                    concat(op, ": ", what, " must be distinct, got ", dim, " twice"));
    seen[static_cast<size_t>(dim)] = true;
  }
  return Status();
}

Result<Tensor> converted(const Tensor &tensor, ElementType type, Context &context) {
  const bool aligned = reinterpret_cast<uintptr_t>(tensor.data()) % 16 == 0;
  if (tensor.type() == type && aligned)
    return tensor;
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(type, tensor.shape(), context));
  numerics::convert(tensor.type(), tensor.data(), type, result.mutableData(),
                    static_cast<size_t>(tensor.elementCount()));
  return result;
}

Result<Tensor> rearranged(const Tensor &tensor, std::span<const int64_t> sizes,
                          std::span<const int64_t> strides, Context &context) {
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(sizes));
  const Dims dense = shape.strides();
  bool unchanged = shape.elementCount() == tensor.elementCount();
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    unchanged &= sizes[dim] == 1 || strides[dim] == dense[dim];
  if (unchanged)
    return tensor.reshaped(std::move(shape));

  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(tensor.type(), shape, context));
  copyStrided(Dims(sizes.begin(), sizes.end()), tensor.data(),
              {0, Dims(strides.begin(), strides.end())}, result.mutableData(), {0, dense},
              tensor.elementBytes());
  return result;
}

} // namespace tilewright::interpret
