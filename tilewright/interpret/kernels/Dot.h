// dot_general and dot.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_DOT_H
#define TILEWRIGHT_INTERPRET_KERNELS_DOT_H

#include "tilewright/interpret/kernels/Contraction.h"

namespace tilewright::interpret {

/// Dimension numbers of dot_general, in the order in which the op lists them.
struct DotDimensions {
  Dims lhsBatching, rhsBatching;
  Dims lhsContracting, rhsContracting;
};

/// The result has the batching dimensions, then the remaining dimensions of lhs, then those of rhs.
///  - interpretShape: dimension numbers or paired sizes do not match.
///  - operandType, dotAlgorithm: as in contract().
Result<Tensor> dotGeneral(const Tensor &lhs, const Tensor &rhs, const DotDimensions &dimensions,
                          ElementType resultType, Context &context,
                          const std::optional<DotAlgorithm> &algorithm = std::nullopt);

/// Vector or matrix times vector or matrix: contracts the last dimension of lhs
/// with the first of rhs.
///  - interpretShape: an operand is not of rank 1 or 2, or the sizes differ.
Result<Tensor> dot(const Tensor &lhs, const Tensor &rhs, ElementType resultType, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_DOT_H
