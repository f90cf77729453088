// Operations that put elements elsewhere and compute nothing. All are one
// strided copy. Sizes are checked here because with dynamic shapes nobody could
// check them before: what does not fit is Error::interpretShape.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_MOVEMENT_H
#define TILEWRIGHT_INTERPRET_KERNELS_MOVEMENT_H

#include "tilewright/interpret/Tensor.h"

#include <span>
#include <vector>

namespace tilewright::interpret {

using Indices = std::span<const int64_t>;

/// Dimension `i` of the operand becomes dimension `dimensions[i]` of the
/// result, stretched if its size is 1; the others repeat the operand.
Result<Tensor> broadcastInDim(const Tensor &operand, Indices dimensions, Shape result,
                              Context &context);

/// The same elements in row-major order under another shape.
Result<Tensor> reshape(const Tensor &operand, Shape result);

/// Dimension `i` of the result is dimension `permutation[i]` of the operand.
Result<Tensor> transpose(const Tensor &operand, Indices permutation, Context &context);

/// Elements `start`, `start + stride`, … below `limit` of each dimension.
Result<Tensor> slice(const Tensor &operand, Indices start, Indices limit, Indices stride,
                     Context &context);

/// A box of `sizes` at `start`, which is moved inwards until the box fits.
Result<Tensor> dynamicSlice(const Tensor &operand, Indices start, Indices sizes, Context &context);

/// `operand` with a box at `start` replaced by `update`; `start` is moved
/// inwards until the box fits. Works in place if nobody else owns the operand.
Result<Tensor> dynamicUpdateSlice(Tensor operand, const Tensor &update, Indices start,
                                  Context &context);

/// The operands one after the other along `dimension`. There is at least one.
Result<Tensor> concatenate(std::span<const Tensor> operands, int64_t dimension, Context &context);

/// `value` around (`low`, `high`, which cut if negative) and between
/// (`interior`) the elements of each dimension.
Result<Tensor> pad(const Tensor &operand, const Tensor &value, Indices low, Indices high,
                   Indices interior, Context &context);

/// Turns the order of elements around along `dimensions`.
Result<Tensor> reverse(const Tensor &operand, Indices dimensions, Context &context);

/// Each element is its own index along `dimension`.
Result<Tensor> iota(ElementType type, Shape shape, int64_t dimension, Context &context);

/// The first `size` of `dimension`, which has been bounded until now.
Result<Tensor> setDimensionSize(const Tensor &operand, int64_t dimension, int64_t size,
                                Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_MOVEMENT_H
