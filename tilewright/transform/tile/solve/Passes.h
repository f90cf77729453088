// The pass of the layout solver.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/solve/Certificate.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::solve {

#define GEN_PASS_DECL
#include "tilewright/transform/tile/solve/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tilewright/transform/tile/solve/Passes.h.inc"

/// Maps the kernels of a GPU to threads: turns each `tile.kernel` into an `sm.kernel`.
void buildLayoutPipeline(mlir::OpPassManager &passes);

/// Statistics of a solve.
struct SolveReport {
  size_t unknowns = 0, components = 0, steps = 0;
};

/// The layouts of minimum cost, checked; nullopt if there are none, with an error at an op. If
/// `warps` is 0, the solver chooses the number of warps.
std::optional<Certificate> solveLayouts(tile::KernelOp kernel, int64_t warps, SolveReport &report);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_H
