// Elementwise operations.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_ELEMENTWISE_H
#define TILEWRIGHT_INTERPRET_KERNELS_ELEMENTWISE_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/Tensor.h"

#include <span>

namespace tilewright::interpret {

/// Applies `op` to corresponding elements of its operands. They have the same shape, except that a
/// scalar applies to every element (the predicate of `select`, the bounds of `clamp`, the widths of
/// `reducePrecision`). All operands except the predicate of `select` have the same type.
///  - unimplemented: the operation is not defined for these types.
Result<Tensor> elementwise(ScalarOp op, std::span<const Tensor> operands, ElementType result,
                           Context &context);

/// Applies `function` to corresponding elements of tensors of the same shape; returns one tensor
/// per result of the function.
Result<std::vector<Tensor>> elementwise(const ScalarFunction &function,
                                        std::span<const Tensor> operands, Context &context);

/// Reinterprets the bits of every element as elements of `result`. If `result` is narrower, its
/// shape has a new last dimension with the parts of an element, lowest bits first; if it is wider,
/// that dimension is removed.
Result<Tensor> bitcastConvert(const Tensor &operand, ElementType result, Shape resultShape,
                              Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_ELEMENTWISE_H
