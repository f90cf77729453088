// Exponentials as polynomials, for some of a thread's registers.
#ifndef TILEWRIGHT_TARGET_GPU_POLYNOMIAL_H
#define TILEWRIGHT_TARGET_GPU_POLYNOMIAL_H

#include "mlir/IR/Region.h"

#include <cstdint>

namespace tilewright::gpu {

/// Every how many registers a map's body computes its exponentials by multiply-adds, as
/// elements::polynomialAttr asks; 0 if none.
int64_t polynomialShare(mlir::Block &body);

/// A copy of a map's body, in `region`, whose exponentials are polynomials.
mlir::Block &withPolynomials(mlir::Block &body, mlir::Region &region);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_POLYNOMIAL_H
