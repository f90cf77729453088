// The ops that ranks execute together: the only list of them in the compiler.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVES_H
#define TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVES_H

#include "mlir/IR/Operation.h"

namespace tilewright::stablehlo {

/// Whether every rank of a group must execute the op: it has `replica_groups` or
/// `source_target_pairs`. False for send and recv, which name their peers by a channel.
bool isCollective(mlir::Operation *op);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVES_H
