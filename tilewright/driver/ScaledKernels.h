// ScaledKernels: finds kernels that compute exactly one product of block-scaled matrices.
#ifndef TILEWRIGHT_DRIVER_SCALEDKERNELS_H
#define TILEWRIGHT_DRIVER_SCALEDKERNELS_H

#include "tilewright/artifact/ScaledProducts.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace tilewright::driver {

/// If a fusion is such a product, records it in the attribute "exec.scaled", which the launch of
/// its kernel keeps. The fusion is an `exec.scaled_matmul` of arguments, optionally times a scalar
/// argument, optionally converted, in f32 up to the conversion. A library rounds like the kernel:
/// the sum, the sum times the factor, and the result.
void markScaledProducts(mlir::ModuleOp module);

/// The product of a launch, whose kernel has the number `kernel` in the executable.
std::optional<artifact::ScaledProduct> scaledProductOf(mlir::Operation *launch,
                                                       artifact::Index kernel);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_SCALEDKERNELS_H
