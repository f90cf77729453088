// Work: what a kernel's ops take, however their tiles are laid out.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_WORK_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_WORK_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace tilewright::solve {

/// The type of a tile; null for what is none.
mlir::RankedTensorType tileType(mlir::Value value);

/// Bits of an element in a register.
int64_t bitsOf(mlir::Type type);

/// Instructions that one element takes in the region of a map, a reduction or a scan, functions
/// counted as several.
int64_t opsOf(mlir::Region &body);

/// How often an op runs, or a value is made, for each time the kernel runs: the turns of the loops
/// around it.
double turnsOf(mlir::Operation *op);
double turnsOf(mlir::Value value);

/// Whether a value is cheaper to compute again, in whatever layout a use needs, than to convert:
/// constants, counts, single elements, and what is computed from these alone in a few steps.
bool isRematerialised(mlir::Value value);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_WORK_H
