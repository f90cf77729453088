// ScaledKernels: which kernels are nothing but a product of block-scaled matrices.
#ifndef TILEWRIGHT_DRIVER_SCALEDKERNELS_H
#define TILEWRIGHT_DRIVER_SCALEDKERNELS_H

#include "tilewright/artifact/ScaledProducts.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace tilewright::driver {

/// Records such a product of a fusion in its attribute "exec.scaled", which the launch of its
/// kernel keeps: `exec.scaled_matmul` of arguments, perhaps times a scalar argument, perhaps
/// converted, with f32 until the conversion. A library rounds as such a kernel does: the sum, the
/// sum times the factor, and the result.
void markScaledProducts(mlir::ModuleOp module);

/// The product of a launch, whose kernel has the number `kernel` in the executable.
std::optional<artifact::ScaledProduct> scaledProductOf(mlir::Operation *launch,
                                                       artifact::Index kernel);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_SCALEDKERNELS_H
