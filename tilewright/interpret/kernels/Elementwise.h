// Operations that treat every element alike.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_ELEMENTWISE_H
#define TILEWRIGHT_INTERPRET_KERNELS_ELEMENTWISE_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/Tensor.h"

#include <span>

namespace tilewright::interpret {

/// Applies `op` to corresponding elements of its operands. They have one
/// shape, except that a scalar goes with every element (the pred of `select`,
/// the bounds of `clamp`, the widths of `reducePrecision`). Every operand but
/// the pred of `select` has one type.
///  - unimplemented: the operation is not defined for these types.
Result<Tensor> elementwise(ScalarOp op, std::span<const Tensor> operands, ElementType result,
                           Context &context);

/// Applies `function` to corresponding elements of tensors of one shape; one
/// tensor per result.
Result<std::vector<Tensor>> elementwise(const ScalarFunction &function,
                                        std::span<const Tensor> operands, Context &context);

/// The bits of every element as elements of `result`. A narrower result gets a
/// new last dimension, which holds an element's parts from the lowest bits up;
/// a wider one takes it away.
Result<Tensor> bitcastConvert(const Tensor &operand, ElementType result, Shape resultShape,
                              Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_ELEMENTWISE_H
