// CompareResults: whether two results of a block-scaled product differ by more than rounding.
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

/// The first element that differs by more than sums of f32 in any order can, with both values;
/// empty if there is none. A sum of `depth` terms is off by at most (depth + 1) * 2^-23 of the sum
/// of their magnitudes, which is at most the product of the norms of the two rows (Cauchy-Schwarz),
/// so nothing is multiplied again. Then comes the rounding to the result's type.
std::string differenceOf(const artifact::ScaledProduct &product, const ComparedProduct &data);

} // namespace tilewright::runtime::cuda::libraries

#endif // TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_COMPARERESULTS_H
