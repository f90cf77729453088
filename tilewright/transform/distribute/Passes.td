#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseMeshPass : Pass<"distribute-choose-mesh", "::mlir::ModuleOp"> {
  let summary = "Writes the mesh of the program's ranks as the module's `exec.mesh`";
  let description = [{
    Before, for 2 replicas of 4 partitions:
      module { sdy.mesh @mesh = <["data"=2, "model"=2]> … }
    After:
      module attributes {exec.mesh = {names = ["replica", "data", "model"], sizes = array<i64: 2, 2, 2>, …}} { … }

    The mesh is `mesh` if it has axes; otherwise the program's `sdy.mesh` with as many devices as partitions and the most axes;
    otherwise one axis "partition".

    Input: any module. Output: `exec.mesh`, unless the program has one rank and `mesh` is empty. Fails with E6020 if the number of ranks in
    `mesh` differs from the program's. Numerics: unchanged.
  }];
  let options = [
    ListOption<"mesh", "mesh", "std::string", "The axes, outermost first, each as name=size">,
    Option<"replicas", "replicas", "int64_t", "0", "Number of replicas; 0 for the module's mhlo.num_replicas">,
    Option<"partitions", "partitions", "int64_t", "0", "Number of partitions; 0 for the module's mhlo.num_partitions">];
}

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
    With `memory-limit`, a sharding that holds more than so many bytes of a device at a time, by an estimate, is
    chosen only if no other is found, and values are gathered before their first use instead of where they are computed.
    Numerics: each device first sums its shard of a sharded dimension, which changes the order of the sum.
  }];
  let options = [
    Option<"partitions", "partitions", "int64_t", "0", "Number of partitions; 0 for the module's mhlo.num_partitions">,
    Option<"memoryLimit", "memory-limit", "int64_t", "0", "Max bytes that a device holds; 0 for no limit">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def VerifyDistributedPass : Pass<"distribute-verify", "::mlir::ModuleOp"> {
  let summary = "Fails with E2030 or E2031 if the module is not the program of one device";
  let description = [{
    Checks the output of the stage, in one walk:
    - A program of several partitions has no sdy op except meshes (E2030).
    - `exec.mesh` has as many ranks as the program (E2031).
    - Every collective names ranks and axes that exist (E2031).
  }];
  let options = [
    Option<"replicas", "replicas", "int64_t", "0", "Number of replicas; 0 for the module's mhlo.num_replicas">,
    Option<"partitions", "partitions", "int64_t", "0", "Number of partitions; 0 for the module's mhlo.num_partitions">];
}

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_TD
