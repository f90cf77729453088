// einsum and unary_einsum.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_EINSUM_H
#define TILEWRIGHT_INTERPRET_KERNELS_EINSUM_H

#include "tilewright/interpret/kernels/Contraction.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::interpret {

/// An einsum equation: "bij,bjk->bik".
///
/// A letter names a dimension. Letters that the result does not list are summed over; a letter that
/// appears twice in one operand takes the diagonal; "..." stands for the dimensions that have no
/// letter, aligned at the last dimension and broadcast where their size is 1. Spaces are ignored.
struct EinsumConfig {
  /// The labels of each operand, then of the result. An ellipsis is a single '.'.
  std::vector<std::string> operands;
  std::string result;

  /// - einsumConfig: the text is not an einsum of `operandCount` operands.
  static Result<EinsumConfig> parse(std::string_view text, size_t operandCount);
};

/// An einsum of two operands. Arithmetic as in Products.h.
///  - einsumConfig: the equation is malformed, or a letter has no dimension.
///  - interpretShape: dimensions with the same letter differ in size.
Result<Tensor> einsum(const Tensor &lhs, const Tensor &rhs, std::string_view config,
                      ElementType resultType, Context &context);
/// An einsum of one operand: a transpose, a diagonal, a sum, or a combination of them.
Result<Tensor> unaryEinsum(const Tensor &operand, std::string_view config, ElementType resultType,
                           Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_EINSUM_H
