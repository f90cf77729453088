// Hints: users' requests for how to compute a product. docs/how-to/tune-products.md
#ifndef TILEWRIGHT_DRIVER_HINTS_H
#define TILEWRIGHT_DRIVER_HINTS_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::driver {

/// Reads the frontend attribute `tilewright` of products, which JAX writes for
/// `jax.experimental.xla_metadata.set_xla_metadata(tilewright="tile=128x256")`, into `exec.hint`.
///  - optionValue: a hint is malformed; the message names the product.
Status attachHints(mlir::ModuleOp module);

/// Warns about each hint that no kernel has followed or refused by now, because another stage has
/// replaced its product.
void reportOpenHints(mlir::ModuleOp module);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_HINTS_H
