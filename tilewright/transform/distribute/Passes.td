#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitPass : Pass<"distribute-split", "::mlir::ModuleOp"> {
  let summary = "Makes of a program for all devices that of one device, which computes its pieces";
  let description = [{
    Before, for `mhlo.num_partitions = 8`, with %x cut along its batch:
      %y = stablehlo.dot_general %x, %w        (64x20, 20x32 -> 64x32)
      %s = stablehlo.reduce(%y) add across [0] (-> 32)
    After:
      %y = stablehlo.dot_general %x, %w        (8x20, 20x32 -> 8x32)
      %p = stablehlo.reduce(%y) add across [0] (-> 32)
      %s = stablehlo.all_reduce(%p)

    Expects: a @main without calls (`simplify-inline`), parameters and results with `sdy.sharding`. Gives:
      no sdy op but meshes; `exec.sharding` on what is divided. What is computed whole by every device
      although something of it is divided is a missed remark of category "distribute", and what is
      gathered a passed one.
    Numerics: sums over what is divided are taken by device first, which changes their order.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD
