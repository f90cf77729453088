// Work: the amount of work in a kernel's ops, independent of layouts.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_WORK_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_WORK_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace tilewright::solve {

/// The type of a tile; null if the value is not a tile.
mlir::RankedTensorType tileType(mlir::Value value);

/// The width of an element in a register, in bits.
int64_t bitsOf(mlir::Type type);

/// Instructions per element in the region of a map, a reduction or a scan. A math function counts
/// as several.
int64_t opsOf(mlir::Region &body);

/// How often an op is executed, or a value is computed, per point of the grid: the product of the
/// trip counts of the enclosing loops.
double tripCount(mlir::Operation *op);
double tripCount(mlir::Value value);

/// Whether to recompute a value in the layout of each use rather than convert it: constants, iotas,
/// single elements, and values computed from only these in a few cheap ops.
bool isRematerialised(mlir::Value value);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_WORK_H
