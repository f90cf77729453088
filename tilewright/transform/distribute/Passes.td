#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitPass : Pass<"distribute-split", "::mlir::ModuleOp"> {
  let summary = "Partitions a program for all devices into the program that each device runs (SPMD)";
  let description = [{
    Before, for `mhlo.num_partitions = 8`, with %x sharded along its batch:
      %y = stablehlo.dot_general %x, %w        (64x20, 20x32 -> 64x32)
      %s = stablehlo.reduce(%y) add across [0] (-> 32)
    After:
      %y = stablehlo.dot_general %x, %w        (8x20, 20x32 -> 8x32)
      %p = stablehlo.reduce(%y) add across [0] (-> 32)
      %s = stablehlo.all_reduce(%p)

    Input: @main without calls (`simplify-inline`), parameters and results with `sdy.sharding`.
    Output: no sdy op except meshes; `exec.sharding` on sharded parameters and results. If every device
    computes an op replicated although an operand is sharded, a missed remark of category "distribute"
    reports it; if an operand is gathered, a passed remark does.
    Numerics: each device first sums its shard of a sharded dimension, which changes the order of the sum.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD
