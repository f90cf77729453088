// Data movement without computation. Every operation is one strided copy. Sizes are checked here,
// because with dynamic shapes they are not known earlier; a mismatch is Error::interpretShape.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_MOVEMENT_H
#define TILEWRIGHT_INTERPRET_KERNELS_MOVEMENT_H

#include "tilewright/interpret/Tensor.h"

#include <span>
#include <vector>

namespace tilewright::interpret {

using Indices = std::span<const int64_t>;

/// Dimension `i` of the operand becomes dimension `dimensions[i]` of the result, broadcast if its
/// size is 1; the operand is repeated along all other dimensions.
Result<Tensor> broadcastInDim(const Tensor &operand, Indices dimensions, Shape result,
                              Context &context);

/// The operand's elements, in row-major order, with another shape.
Result<Tensor> reshape(const Tensor &operand, Shape result);

/// Dimension `i` of the result is dimension `permutation[i]` of the operand.
Result<Tensor> transpose(const Tensor &operand, Indices permutation, Context &context);

/// Elements `start`, `start + stride`, … below `limit` of each dimension.
Result<Tensor> slice(const Tensor &operand, Indices start, Indices limit, Indices stride,
                     Context &context);

/// The box of `sizes` at `start`, which is clamped so that the box fits.
Result<Tensor> dynamicSlice(const Tensor &operand, Indices start, Indices sizes, Context &context);

/// `operand` with a box at `start` replaced by `update`; `start` is clamped so that the box fits.
/// Works in place if the operand has no other owner.
Result<Tensor> dynamicUpdateSlice(Tensor operand, const Tensor &update, Indices start,
                                  Context &context);

/// Concatenates the operands along `dimension`. There must be at least one.
Result<Tensor> concatenate(std::span<const Tensor> operands, int64_t dimension, Context &context);

/// Pads with `value` around (`low`, `high`, which crop if negative) and between (`interior`) the
/// elements of each dimension.
Result<Tensor> pad(const Tensor &operand, const Tensor &value, Indices low, Indices high,
                   Indices interior, Context &context);

/// Reverses the order of elements along `dimensions`.
Result<Tensor> reverse(const Tensor &operand, Indices dimensions, Context &context);

/// Each element of the result is its own index along `dimension`.
Result<Tensor> iota(ElementType type, Shape shape, int64_t dimension, Context &context);

/// The first `size` elements along `dimension`, whose size was only bounded before.
Result<Tensor> setDimensionSize(const Tensor &operand, int64_t dimension, int64_t size,
                                Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_MOVEMENT_H
