#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SolveLayoutsPass : Pass<"tile-solve-layouts", "::mlir::ModuleOp"> {
  let summary = "Gives every tile of a `tile.kernel` a layout: it becomes an `sm.kernel`";
  let description = [{
    Each tile is an unknown. Ops give equations (a map's tiles are alike, a reduction's result is
    its input without some dimensions, a view's follow from each other), matrix instructions
    give constants, accesses of memory have costs, and where two do not agree the tile is
    converted, at a cost in cycles. The choice of least cost is exact; what it says is checked by a separate checker
    before anything is changed.

    Before:
      tile.kernel @row_max grid [8] inputs 1 { load; reduce; store }
    After:
      sm.kernel @row_max grid [8] inputs 1 warps 4 {
        %x = tile.load … -> tensor<16x128xf32, #sm.layout<[4 reg:4, 4 warp] [32 lane, 4 reg]>>
        %m = tile.reduce %x … -> tensor<16xf32, #sm.layout<[4 reg, 4 warp] copies [32 lane]>>
        tile.store %m … }

    Expects: kernels of tile ops and `scf.for`; `exec.target` on the module, a dictionary with `warp_size`,
    `shared_bytes`, `sector_bytes`, `max_registers` and `matrix`, or nothing; a kernel may have an
    attribute `warps`. Gives: no tile.kernel, or an error that names the ops that contradict each
    other. Numerics: a reduction is done in another order; nothing else changes.
  }];
  let options = [Option<"warps", "warps", "int64_t", "0", "Warps of a CTA; 0 chooses by the largest tile">];
  let statistics = [
    Statistic<"numUnknowns", "unknowns", "Layouts that were chosen">,
    Statistic<"numComponents", "components", "Sets of unknowns that were independent">,
    Statistic<"numConverts", "converts", "Conversions inserted">
  ];
  let dependentDialects = ["::tilewright::sm::SmDialect"];
}

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_PASSES_TD
