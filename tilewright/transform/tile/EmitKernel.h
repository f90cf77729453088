// Builds a tile.kernel from a tiled graph.
#ifndef TILEWRIGHT_TRANSFORM_TILE_EMITKERNEL_H
#define TILEWRIGHT_TRANSFORM_TILE_EMITKERNEL_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Tiling.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::tile {

/// Builds the kernel at the builder's insertion point. `inputs` receives the number of the fusion's
/// input for each input of the kernel; a fusion input may appear twice, with two shapes.
KernelOp emitKernel(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                    const FusionGraph &graph, const Tiling &tiling, const Capacities &capacities,
                    llvm::SmallVectorImpl<int> &inputs);

/// Merges chains of tile.map whose intermediate results have no other use.
void mergeMaps(KernelOp kernel);

/// Pairs (output, input) such that the kernel may write the output over the input. This is legal if
/// each point of the grid reads only those elements of the input that it later overwrites. Targets
/// must execute reductions and stores in dependence order, emit stores of the same box that depend
/// only on elementwise ops in the same loop nest, and read each loaded element once.
llvm::SmallVector<std::pair<int64_t, int64_t>> findAliases(KernelOp kernel);

/// The cost of one point of the grid, with loop bodies multiplied by their trip counts: arithmetic
/// operations, and bytes read and written.
struct Cost {
  int64_t flops = 0;
  int64_t bytes = 0;
};
Cost costPerPoint(KernelOp kernel);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_EMITKERNEL_H
