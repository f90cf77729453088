#ifndef TILEWRIGHT_TRANSFORM_TILE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileFusionsPass : Pass<"tile-fusions", "::mlir::ModuleOp"> {
  let summary = "Makes a `tile.kernel` of each `exec.fusion` and launches it";
  let description = [{
    A fusion says which ops run together; a kernel says how one point of a grid does its
    part. Dimensions that all ops treat alike become one, a tile of the largest output is
    chosen, and the part of every other value that it needs follows from the ops' indexing
    relations.

    Before:
      %r = exec.fusion "exp_sum" (%x) : (tensor<64x512xf32>) -> tensor<64xf32> { exp; reduce }
    After:
      %r = exec.launch @exp_sum(%x) {exec.cost = {bytes = …, flops = …}} : …
      tile.kernel @exp_sum grid [16] inputs 1 { load; map; reduce; store }

    Expects: fusions of StableHLO ops on tensors of static shape; `exec.target` on the module,
    a dictionary with `cores`, `vector_bytes`, `l1_bytes`, `min_parallel_items`, or nothing.
    Gives: no fusions. One that cannot be a kernel falls apart into kernels of single ops;
    an op that cannot be one either stands alone again. Both are missed remarks with a reason.
    Numerics: reductions are in any order; nothing else changes.
  }];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels made">,
    Statistic<"numSplit", "fusions-split", "Fusions that fell apart">
  ];
  let dependentDialects = [
    "::tilewright::exec::ExecDialect", "::tilewright::tile::TileDialect",
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::complex::ComplexDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def TilePipelinePass : Pass<"tile-pipeline", "::mlir::ModuleOp"> {
  let summary = "Makes of a matrix product a kernel whose warps copy and multiply at once";
  let description = [{
    The tensor core is fed from shared memory, which the copy engine fills. Who waits for whom, how many slots
    there are between them and who has how many registers comes from a plan of the loop
    (`transform/tile/pipeline`), which is checked before anything changes.

    Before:
      tile.kernel { %s = scf.for { load; load; dot }; map; store }
    After:
      sm.kernel { %c = sm.channel depth 4
        sm.role "load" { scf.for { acquire; copy tma; copy tma; publish } }
        sm.role "math" { take; mma; scf.for { take; mma; free }; free; map; store } }
    After, where matrix instructions take registers (of a warp; tf32 everywhere):
      sm.kernel { %c = sm.channel depth 3
        acquire; copy cp_async; publish; acquire; copy cp_async; publish; take; copy ldmatrix
        scf.for { acquire; copy cp_async; publish; copy ldmatrix; mma; …; free; take; copy ldmatrix; mma }
        …; map; store }

    Expects: kernels of `tile-fusions`; `exec.target` of a GPU with `rates`.
    Gives: an `sm.kernel` for each kernel that is one product of two loaded matrices, of types
    and layouts that the chip's instructions take, with something behind it. Others are as they
    were, each a missed remark with the reason.
    Numerics: none; the sum over K is in the accumulator's type as before.
  }];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels with roles or channels">];
  let dependentDialects = [
    "::tilewright::sm::SmDialect", "::tilewright::tile::TileDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

#endif // TILEWRIGHT_TRANSFORM_TILE_PASSES_TD
