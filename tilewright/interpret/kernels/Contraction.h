// Contraction: the common core of dot, dot_general and einsum.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_CONTRACTION_H
#define TILEWRIGHT_INTERPRET_KERNELS_CONTRACTION_H

#include "tilewright/interpret/kernels/Indexing.h"

#include <optional>

namespace tilewright::interpret {

/// result[b…, m…, n…] = sum over k… of lhs[b…, m…, k…] * rhs[b…, k…, n…]
///
/// Sizes of the four groups of dimensions, and their strides in the operands, in elements. A stride
/// is 0 if the operand does not have the dimension.
struct Contraction {
  Dims batch, lhsFree, rhsFree, summed;
  Dims lhsStrides; // over batch, lhsFree, summed
  Dims rhsStrides; // over batch, summed, rhsFree
};

/// The precision that the program requests: operands are split into components of a narrow type,
/// whose products are summed in `accumulationType`.
struct DotAlgorithm {
  ElementType lhsPrecisionType = ElementType::f32;
  ElementType rhsPrecisionType = ElementType::f32;
  ElementType accumulationType = ElementType::f32;
  int64_t lhsComponentCount = 1;
  int64_t rhsComponentCount = 1;
  int64_t primitiveOperations = 1;
};

/// Evaluates a contraction. The result is dense, with the dimensions in the order batch, lhsFree,
/// rhsFree; Products.h specifies the arithmetic. With an algorithm, the sum is rounded to the
/// algorithm's accumulation type before the result's.
///  - operandType: the element types cannot be combined.
///  - dotAlgorithm: the algorithm's counts and types are not supported.
Result<Tensor> contract(std::string_view op, const Tensor &lhs, const Tensor &rhs,
                        const Contraction &contraction, ElementType resultType,
                        const std::optional<DotAlgorithm> &algorithm, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_CONTRACTION_H
