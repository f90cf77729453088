// The ops that ranks execute together: the only list of them in the compiler.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVES_H
#define TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVES_H

#include "mlir/IR/Operation.h"

namespace tilewright::stablehlo {

/// Whether every rank of a group must execute the op: it has `replica_groups` or
/// `source_target_pairs`. False for send and recv, which name their peers by a channel.
bool isCollective(mlir::Operation *op);
/// Whether the op is a collective or has one in its regions.
bool hasCollective(mlir::Operation *op);

/// A unit attribute on a collective that makes a value a second time, so that it need not be held:
/// it is not replaced by the first one.
inline constexpr llvm::StringLiteral repeatedAttribute = "exec.repeated";

/// Whether the op is the custom call by which JAX writes `ragged_all_to_all`. Its operands are the
/// rows to send, the initial value of the result, and four lists of integers with one entry for
/// each piece, evenly divided among the members of a group: where pieces begin in the operand, how
/// many rows they have, where they begin in the *receiver's* result, and how many rows arrive.
bool isRaggedAllToAll(mlir::Operation *op);
/// Its attributes: `replica_groups` and, if groups are of partitions, `channel_id`.
mlir::DictionaryAttr raggedConfigOf(mlir::Operation *op);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVES_H
