// CompareResults: whether two results of a block-scaled product differ by more than rounding
// errors.
#ifndef TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_COMPARERESULTS_H
#define TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_COMPARERESULTS_H

#include "tilewright/artifact/ScaledProducts.h"

#include <string>

namespace tilewright::runtime::cuda::libraries {

/// The operands and two results of a product, in host memory.
struct ComparedProduct {
  const std::byte *lhs = nullptr, *rhs = nullptr, *lhsScale = nullptr, *rhsScale = nullptr;
  float factor = 1;
  const std::byte *ours = nullptr, *theirs = nullptr;
};

/// The first element whose two values differ by more than f32 sums in different orders can, with
/// both values; empty if there is none. A sum of `depth` terms is off by at most (depth + 1) *
/// 2^-23 of the sum of their magnitudes. That sum is at most the product of the norms of the two
/// rows (Cauchy-Schwarz), so the product need not be computed again. The rounding to the result's
/// type adds to this.
std::string differenceOf(const artifact::ScaledProduct &product, const ComparedProduct &data);

} // namespace tilewright::runtime::cuda::libraries

#endif // TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_COMPARERESULTS_H
