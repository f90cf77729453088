// Lets passes and evaluations check the work limit of their compilation.
#ifndef TILEWRIGHT_INTERPRET_STOPAT_H
#define TILEWRIGHT_INTERPRET_STOPAT_H

#include "tilewright/support/WorkLimit.h"

#include "mlir/IR/Operation.h"

#include <string>

namespace tilewright::interpret {

/// "'stablehlo.add' at train.py:41"
std::string describe(mlir::Operation *op);

/// Whether the work must stop (support/WorkLimit.h); if so, records `op` as the current one. For
/// loops over ops; costs one load until the limit is reached.
inline bool mustStopAt(mlir::Operation *op) {
  if (!WorkLimit::mustStop())
    return false;
  if (WorkLimit *limit = WorkLimit::current(); !limit->isNoted())
    limit->noteStop(describe(op));
  return true;
}

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_STOPAT_H
