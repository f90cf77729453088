// From a tiled graph to a tile.kernel.
#ifndef TILEWRIGHT_TRANSFORM_TILE_EMITKERNEL_H
#define TILEWRIGHT_TRANSFORM_TILE_EMITKERNEL_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Tiling.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::tile {

/// Builds the kernel at the builder's place. `inputs` gets the number of the fusion's
/// input for each input of the kernel; one may come twice, in two shapes.
KernelOp emitKernel(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                    const FusionGraph &graph, const Tiling &tiling, const Capacities &capacities,
                    llvm::SmallVectorImpl<int> &inputs);

/// Puts chains of tile.map into one, where nobody else sees what is between.
void mergeMaps(KernelOp kernel);

/// Pairs (output, input) such that the output may be written over the input: whatever a
/// point reads of it, it reads at the elements that it then writes, in time. Relies on targets
/// to run reductions and stores in the order of their dependence, and stores of one shape that
/// depend on equally many together, reading each loaded element once.
llvm::SmallVector<std::pair<int64_t, int64_t>> findAliases(KernelOp kernel);

/// What one point costs, loops counted as often as they turn: arithmetic operations, and bytes read
/// and written.
struct Cost {
  int64_t flops = 0;
  int64_t bytes = 0;
};
Cost costPerPoint(KernelOp kernel);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_EMITKERNEL_H
