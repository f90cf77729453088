#include "tilewright/interpret/kernels/Movement.h"

#include "tilewright/interpret/ScalarOperations.h"
#include "tilewright/interpret/kernels/StridedCopy.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>

namespace tilewright::interpret {

static std::vector<int64_t> dimsOf(const Shape &shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

static Status shapeError(std::string message) {
  return Status(Error::interpretShape, std::move(message));
}

/// Copies a box of the operand to a new dense tensor of shape `shape`.
static Result<Tensor> gatherBox(const Tensor &operand, const StridedBox &source, Shape shape,
                                Context &context) {
  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(operand.type(), std::move(shape), context));
  copyStrided(dimsOf(tensor.shape()), operand.data(), source, tensor.mutableData(),
              {0, tensor.shape().strides()}, operand.elementBytes());
  return tensor;
}

Result<Tensor> broadcastInDim(const Tensor &operand, Indices dimensions, Shape result,
                              Context &context) {
  const std::vector<int64_t> strides = operand.shape().strides();
  StridedBox source{0, std::vector<int64_t>(static_cast<size_t>(result.rank()), 0)};
  for (size_t dim = 0; dim < dimensions.size(); ++dim) {
    const int64_t size = operand.shape()[static_cast<int64_t>(dim)];
    const int64_t target = result[dimensions[dim]];
    if (size == target)
      source.strides[static_cast<size_t>(dimensions[dim])] = strides[dim];
    else if (size != 1)
      return shapeError(concat("operand dimension ", dim,
                               " must be 1 or the size of result dimension ", dimensions[dim],
                               ", got ", size, " and ", target));
  }
  if (result == operand.shape() && std::is_sorted(dimensions.begin(), dimensions.end()))
    return operand;
  return gatherBox(operand, source, std::move(result), context);
}

Result<Tensor> reshape(const Tensor &operand, Shape result) {
  if (result.elementCount() != operand.elementCount())
    return shapeError(concat("reshape must keep the number of elements, got ",
                             operand.elementCount(), " in ", operand.shape().toString(), " and ",
                             result.elementCount(), " in ", result.toString()));
  return operand.reshaped(std::move(result));
}

Result<Tensor> transpose(const Tensor &operand, Indices permutation, Context &context) {
  const std::vector<int64_t> strides = operand.shape().strides();
  std::vector<int64_t> dims;
  StridedBox source;
  for (int64_t dim : permutation) {
    dims.push_back(operand.shape()[dim]);
    source.strides.push_back(strides[static_cast<size_t>(dim)]);
  }
  if (std::is_sorted(permutation.begin(), permutation.end()))
    return operand;
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
  return gatherBox(operand, source, std::move(shape), context);
}

Result<Tensor> slice(const Tensor &operand, Indices start, Indices limit, Indices stride,
                     Context &context) {
  std::vector<int64_t> dims, strides = operand.shape().strides();
  StridedBox source;
  for (size_t dim = 0; dim < start.size(); ++dim) {
    const int64_t size = operand.shape()[static_cast<int64_t>(dim)];
    if (start[dim] < 0 || start[dim] > limit[dim] || limit[dim] > size || stride[dim] < 1)
      return shapeError(concat("slice [", start[dim], ":", limit[dim], ":", stride[dim],
                               "] is invalid for dimension ", dim, " of size ", size));
    // Not (limit - start + stride - 1) / stride, which overflows for huge strides.
    const int64_t extent = limit[dim] - start[dim];
    dims.push_back(extent / stride[dim] + (extent % stride[dim] != 0));
    source.offset += start[dim] * strides[dim];
    // A stride larger than the size is never used; clamp it, so that the product does not overflow.
    source.strides.push_back(strides[dim] * std::min(stride[dim], std::max<int64_t>(size, 1)));
  }
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
  if (shape == operand.shape())
    return operand;
  return gatherBox(operand, source, std::move(shape), context);
}

/// The box of `sizes` at `start`, which is clamped so that the box lies inside `shape`.
static Result<StridedBox> clampedBox(const Shape &shape, Indices start, Indices sizes) {
  StridedBox box{0, shape.strides()};
  for (size_t dim = 0; dim < start.size(); ++dim) {
    const int64_t size = shape[static_cast<int64_t>(dim)];
    if (sizes[dim] < 0 || sizes[dim] > size)
      return shapeError(concat("a slice of size ", sizes[dim], " does not fit in dimension ", dim,
                               " of size ", size));
    box.offset += std::clamp<int64_t>(start[dim], 0, size - sizes[dim]) * box.strides[dim];
  }
  return box;
}

Result<Tensor> dynamicSlice(const Tensor &operand, Indices start, Indices sizes, Context &context) {
  TILEWRIGHT_ASSIGN(StridedBox source, clampedBox(operand.shape(), start, sizes));
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(sizes));
  return gatherBox(operand, source, std::move(shape), context);
}

Result<Tensor> dynamicUpdateSlice(Tensor operand, const Tensor &update, Indices start,
                                  Context &context) {
  TILEWRIGHT_ASSIGN(StridedBox target, clampedBox(operand.shape(), start, update.shape().dims()));
  TILEWRIGHT_TRY(context.countSteps(update.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor result, std::move(operand).intoSoleOwner(context));
  copyStrided(dimsOf(update.shape()), update.data(), {0, update.shape().strides()},
              result.mutableData(), target, result.elementBytes());
  return result;
}

Result<Tensor> concatenate(std::span<const Tensor> operands, int64_t dimension, Context &context) {
  std::vector<int64_t> dims = dimsOf(operands[0].shape());
  for (const Tensor &operand : operands.subspan(1)) {
    for (int64_t dim = 0; dim < operand.rank(); ++dim)
      if (dim != dimension && operand.shape()[dim] != dims[static_cast<size_t>(dim)])
        return shapeError(concat("operands must have the same size in all dimensions except ",
                                 dimension, ", got ", operands[0].shape().toString(), " and ",
                                 operand.shape().toString()));
    dims[static_cast<size_t>(dimension)] += operand.shape()[dimension];
  }
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(operands[0].type(), std::move(shape), context));
  StridedBox target{0, result.shape().strides()};
  for (const Tensor &operand : operands) {
    copyStrided(dimsOf(operand.shape()), operand.data(), {0, operand.shape().strides()},
                result.mutableData(), target, result.elementBytes());
    target.offset += operand.shape()[dimension] * target.strides[static_cast<size_t>(dimension)];
  }
  return result;
}

Result<Tensor> pad(const Tensor &operand, const Tensor &value, Indices low, Indices high,
                   Indices interior, Context &context) {
  const size_t rank = low.size();
  // In each dimension, `kept` elements of the operand from `first` on survive negative padding.
  std::vector<int64_t> dims(rank), kept(rank), first(rank);
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t size = operand.shape()[static_cast<int64_t>(dim)];
    int64_t step, spread, padded;
    if (__builtin_add_overflow(interior[dim], 1, &step) || interior[dim] < 0 ||
        __builtin_mul_overflow(std::max<int64_t>(size - 1, 0), step, &spread) ||
        __builtin_add_overflow(spread, size > 0, &spread) ||
        __builtin_add_overflow(spread, low[dim], &padded) ||
        __builtin_add_overflow(padded, high[dim], &padded) || padded < 0)
      return shapeError(concat("padding dimension ", dim, " of size ", size, " with low ", low[dim],
                               ", high ", high[dim], " and interior ", interior[dim],
                               " results in an invalid size"));
    dims[dim] = padded;
    first[dim] = low[dim] >= 0 ? 0 : (-low[dim] - 1) / step + 1;
    // Element i is at position low + i * step of the result, which must be in 0 … padded - 1.
    const int64_t room = padded - 1 - low[dim];
    const int64_t last = room < 0 ? -1 : std::min(size - 1, room / step);
    kept[dim] = std::max<int64_t>(0, last - first[dim] + 1);
  }
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor result,
                    Tensor::copies(operand.type(), std::move(shape), value.data(), context));
  if (std::find(kept.begin(), kept.end(), 0) != kept.end())
    return result;
  StridedBox source{0, operand.shape().strides()}, target{0, result.shape().strides()};
  for (size_t dim = 0; dim < rank; ++dim) {
    source.offset += first[dim] * source.strides[dim];
    target.offset += (low[dim] + first[dim] * (interior[dim] + 1)) * target.strides[dim];
    target.strides[dim] *= kept[dim] > 1 ? interior[dim] + 1 : 1;
  }
  copyStrided(kept, operand.data(), source, result.mutableData(), target, result.elementBytes());
  return result;
}

Result<Tensor> reverse(const Tensor &operand, Indices dimensions, Context &context) {
  StridedBox source{0, operand.shape().strides()};
  for (int64_t dim : dimensions) {
    int64_t &stride = source.strides[static_cast<size_t>(dim)];
    source.offset += std::max<int64_t>(operand.shape()[dim] - 1, 0) * stride;
    stride = -stride;
  }
  return gatherBox(operand, source, operand.shape(), context);
}

Result<Tensor> iota(ElementType type, Shape shape, int64_t dimension, Context &context) {
  TILEWRIGHT_ASSIGN(Shape line, Shape::create({shape[dimension]}));
  TILEWRIGHT_TRY(context.countSteps(line.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor numbers, Tensor::allocate(type, std::move(line), context));
  const Operation convert = operationFor(ScalarOp::convert, ElementType::i64, type);
  for (int64_t i = 0; i < numbers.elementCount(); ++i)
    numbers.set(i, convert(Scalar::ofSigned(i), {}, {}));
  return broadcastInDim(numbers, std::vector{dimension}, std::move(shape), context);
}

Result<Tensor> setDimensionSize(const Tensor &operand, int64_t dimension, int64_t size,
                                Context &context) {
  std::vector<int64_t> sizes = dimsOf(operand.shape());
  int64_t &bound = sizes[static_cast<size_t>(dimension)];
  if (size < 0 || size > bound)
    return shapeError(
        concat("size of dimension ", dimension, " must be in [0, ", bound, "], got ", size));
  if (size == bound)
    return operand;
  bound = size;
  const std::vector<int64_t> start(sizes.size(), 0);
  return dynamicSlice(operand, start, sizes, context);
}

} // namespace tilewright::interpret
