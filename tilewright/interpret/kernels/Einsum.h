// einsum and unary_einsum.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_EINSUM_H
#define TILEWRIGHT_INTERPRET_KERNELS_EINSUM_H

#include "tilewright/interpret/kernels/Contraction.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::interpret {

/// An einsum in letters: "bij,bjk->bik".
///
/// A letter names a dimension. Letters that the result does not list are
/// summed over; a letter twice in one operand takes the diagonal; "..." stands
/// for the dimensions that have no letter, aligned at their last and broadcast
/// where their size is 1. Spaces are ignored.
struct EinsumConfig {
  /// One of these for each operand, then one for the result. Dimensions of an
  /// ellipsis are the character '.', once for the whole ellipsis.
  std::vector<std::string> operands;
  std::string result;

  /// - einsumConfig: the text is not an einsum of `operandCount` operands.
  static Result<EinsumConfig> parse(std::string_view text, size_t operandCount);
};

/// Two operands. Arithmetic as in Products.h.
///  - einsumConfig: the text is malformed, or a letter has no dimension.
///  - interpretShape: dimensions of one letter differ in size.
Result<Tensor> einsum(const Tensor &lhs, const Tensor &rhs, std::string_view config,
                      ElementType resultType, Context &context);
/// One operand: a transpose, a diagonal, a sum, or all of them.
Result<Tensor> unaryEinsum(const Tensor &operand, std::string_view config, ElementType resultType,
                           Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_EINSUM_H
