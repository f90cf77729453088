#ifndef TILEWRIGHT_TRANSFORM_TILE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileFusionsPass : Pass<"tile-fusions", "::mlir::ModuleOp"> {
  let summary = "Turns each `exec.fusion` into a `tile.kernel` and a launch";
  let description = [{
    A fusion specifies which ops run together; a kernel specifies what one point of a grid computes.
    The pass merges dimensions that all ops treat alike, chooses a tile of the largest output, and
    derives the tiles of all other values from the ops' indexing relations.

    Before:
      %r = exec.fusion "exp_sum" (%x) : (tensor<64x512xf32>) -> tensor<64xf32> { exp; reduce }
    After:
      %r = exec.launch @exp_sum(%x) {exec.cost = {bytes = …, flops = …}} : …
      tile.kernel @exp_sum grid [16] inputs 1 { load; map; reduce; store }

    Input: fusions of StableHLO ops on tensors of static shape; the module may have an `exec.target`.
    Output: no fusions. A fusion that cannot become a kernel is split into kernels of single ops; an op
    that cannot become a kernel either is left outside. Both are reported as missed remarks with the
    reason.
    Numerics: reductions may be reordered; nothing else changes.
  }];
  let dependentDialects = [
    "::tilewright::exec::ExecDialect", "::tilewright::tile::TileDialect",
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::complex::ComplexDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def MergeLoadsPass : Pass<"tile-merge-loads", "::mlir::ModuleOp"> {
  let summary = "On a GPU, lets kernels of products load adjacent dimensions of memory as one";
  let description = [{
    An operand with a scale for each group of the contracted dimension is tiled in two dimensions, the group and the place in it. If a tile
    has whole groups, and more than one, they are adjacent in memory: a line of the copy engine, like one of an operand without groups.

    Before:
      %t = tile.load %x[%m, %g, %zero] : memref<512x16x32xf8E4M3FN> -> tensor<128x2x32xf8E4M3FN>
    After:
      %l = tile.load %x[%m, %g * 32] : memref<512x512xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
      %t = tile.view %l affine_map<(i, j, k) -> (i, j * 32 + k)>

    Input: tiled kernels. Output: the same; launches pass the same memory. An input stays as it is if one of its loads is not contiguous in both
    dimensions. Numerics: unchanged.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::tilewright::tile::TileDialect"];
}

def UnpackLoadsPass : Pass<"tile-unpack-loads", "::mlir::ModuleOp"> {
  let summary = "On a GPU, lets kernels of products load packed bytes and unpack them in registers";
  let description = [{
    `fuse-pack-elements` unpacks the operands of a product by a kernel of its own, because a product is tiled along elements,
    not along bytes and the elements of a byte. Here the tiles are known: a load that begins and ends with a byte
    reads bytes, and each element shifts its byte by its place.

    Before:
      %u = exec.launch @unpack(%bytes) {exec.unpacks} : (tensor<131072xui8>) -> tensor<512x512xi4>
      %r = exec.launch @dot(%x, %u)
      tile.kernel @dot { %t = tile.load %w[%k, %n] : memref<512x512xi4> -> tensor<64x128xi4> … }
    After:
      %r = exec.launch @dot(%x, %bytes)
      tile.kernel @dot {
        %b = tile.load %w[%k, %n floordiv 2] : memref<512x256xi8> -> tensor<64x64xi8>
        %v = tile.view %b affine_map<(i, j) -> (i, j floordiv 2)>
        %t = tile.map(%place, %v) … the byte shifted by 4 * (place mod 2) }

    Input: tiled kernels. Output: the same; a launch that unpacks is removed if it has no readers left. An operand stays
    unpacked in memory if a load of it does not read whole bytes, or has 6 bits. Numerics: unchanged.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::tilewright::tile::TileDialect"];
}

def VerifyTiledPass : Pass<"tile-verify", "::mlir::ModuleOp"> {
  let summary = "Fails with E2040 if a fusion is left, or a kernel is not one that targets compile";
  let description = [{
    Checks the output of the stage, in one walk:
    - No fusions. An op that cannot become a kernel stands alone.
    - Each launch names a `tile.kernel` with an argument for each operand and result, of the same number of elements.
    - A kernel computes with ops of tile, affine, arith, complex, math, scf and tensor, on tiles of static shape without layouts.
  }];
}

def TilePipelinePass : Pass<"tile-pipeline", "::mlir::ModuleOp"> {
  let summary = "Turns a matmul into a software-pipelined kernel whose copies overlap its products";
  let description = [{
    The tensor core reads shared memory, which the copy engine fills. A plan of the loop
    (`transform/tile/pipeline`) specifies the roles, how many slots the channels between them have and
    how many registers each role has. The plan is checked before the IR changes.

    Before:
      tile.kernel { %s = scf.for { load; load; dot }; map; store }
    After:
      sm.kernel { %c = sm.channel depth 4
        sm.role "load" { scf.for { acquire; copy tma; copy tma; publish } }
        sm.role "math" { take; mma; scf.for { take; mma; free }; free; map; store } }
    After, if the matrix instructions read registers (mma.sync; also tf32 that copies cannot round):
      sm.kernel { %c = sm.channel depth 3
        acquire; copy cp_async; publish; acquire; copy cp_async; publish; take; copy ldmatrix
        scf.for { acquire; copy cp_async; publish; copy ldmatrix; mma; …; free; take; copy ldmatrix; mma }
        …; map; store }

    Input: kernels of `tile-fusions`; `exec.target` is a GPU with `rates`.
    Output: an `sm.kernel` for each kernel that is one product of two loaded matrices, of types and
    layouts that the chip's instructions support, with an optional prologue and epilogue. All other
    kernels are unchanged; a missed remark has the reason.
    Numerics: unchanged; the sum over K still has the accumulator's type.
  }];
  let dependentDialects = [
    "::tilewright::sm::SmDialect", "::tilewright::tile::TileDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

#endif // TILEWRIGHT_TRANSFORM_TILE_PASSES_TD
