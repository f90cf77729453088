#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SolveLayoutsPass : Pass<"tile-solve-layouts", "::mlir::ModuleOp"> {
  let summary = "Chooses a layout for every tile of a `tile.kernel`, which becomes an `sm.kernel`";
  let description = [{
    The layout of each tile is an unknown. Ops relate unknowns (the tiles of a map have the same
    layout, the layout of a reduction's result is that of its input without some dimensions, the source
    and the result of a view determine each other), matrix instructions prescribe layouts, and memory
    accesses have costs. If a definition and a use disagree, the tile is converted, at a cost in
    cycles. The solver finds the choice of minimum cost exactly; a separate checker checks the choice
    before the IR changes.

    Before:
      tile.kernel @row_max grid [8] inputs 1 { load; reduce; store }
    After:
      sm.kernel @row_max grid [8] inputs 1 warps 4 {
        %x = tile.load … -> tensor<16x128xf32, #sm.layout<[4 reg:4, 4 warp] [32 lane, 4 reg]>>
        %m = tile.reduce %x … -> tensor<16xf32, #sm.layout<[4 reg, 4 warp] copies [32 lane]>>
        tile.store %m … }

    Input: kernels of tile ops and `scf.for`; the module may have an `exec.target` of a GPU, and a
    kernel may have an attribute `warps`. Output: no tile.kernel, or an error that names the ops that
    exclude each other. Numerics: reductions are reordered; nothing else changes.
  }];
  let options = [Option<"warps", "warps", "int64_t", "0", "Number of warps in a CTA; 0 chooses it by the largest tile">];
  let dependentDialects = ["::tilewright::exec::ExecDialect", "::tilewright::sm::SmDialect"];
}

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_TD
