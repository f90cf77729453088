// Collectives as tile kernels over windows: each device runs the same kernel on its rank, and the
// kernels move the data themselves.
#ifndef TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_BUILDCOLLECTIVE_H
#define TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_BUILDCOLLECTIVE_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/numerics/CollectiveKernel.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::tile {

using numerics::CollectiveForm;
using numerics::CollectiveKernel;

/// Adds the kernel to the end of the module.
///  - unimplemented: there is no kernel of this form for this type, operation or count; the message
///    says why.
Result<KernelOp> buildCollective(mlir::ModuleOp module, const CollectiveKernel &wanted);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_BUILDCOLLECTIVE_H
