#ifndef TILEWRIGHT_TARGET_CPU_PASSES_TD
#define TILEWRIGHT_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuAttachTargetPass : Pass<"cpu-attach-target", "::mlir::ModuleOp"> {
  let summary = "Writes what the chip can do as the module's `exec.target`";
  let description = [{
    Stages read the machine from this attribute and never include a target.

    Before:  module { … }
    After:   module attributes {exec.target = #exec.target<chip = "x86-64-v4", units = 2, cpu = <vector_bytes = 64>>} { … }
  }];
  let options = [Option<"chip", "chip", "std::string", "\"\"",
                        "A row of the chip table; this machine's if empty">,
                 Option<"cores", "cores", "int64_t", "1", "Threads that kernels run on">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def CpuFuseEpiloguesPass : Pass<"cpu-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Lets the library's product compute the elementwise fusion that reads it";
  let description = [{
    The library hands finished sums to a function while they are in the cache, so a
    bias, an activation, a residual or a conversion costs no trip to memory.

    Before:
      %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      %r = exec.fusion "add_tanh"(%d, %bias) { …bias along rows, add, tanh… }
    After:
      %r = exec.dot_general(%x, %w, %bias) {bodies = [@epilogue_0], product_type = f32, …}
      func.func private @epilogue_0(%sum: f32, %bias: f32) -> f32
          attributes {exec.epilogue = array<i64: 0, 1, 256, 1>} { … }

    The attribute holds the strides of each input and result: element [row, column] is at
    row * first + column * second.

    Expects: fusions that are not tiled yet. Gives: a fusion remains if it holds anything but
    elementwise ops and broadcasts along rows and columns, or if its product has another reader; the first
    is a missed remark of category "fuse". Numerics: none change; a product of bf16 is rounded before the
    epilogue computes with it.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::complex::ComplexDialect",
                           "::mlir::func::FuncDialect"];
}

def CpuLowerAttentionPass : Pass<"cpu-lower-attention", "::mlir::ModuleOp"> {
  let summary = "Turns attention into a call of the library, with functions for its scores";
  let description = [{
    Before:
      %r = exec.softmax_dot(%q, %k, %v) sizes [2, 64, 64, 32, 32] dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>] weights f32 … { … }
    After:
      %r = exec.attention(%q, %k, %v) {bodies = [@score_0], dims = array<i64: 0, 1, 3, 0, 2, 3, 0, 2, 4, 0, 1, 4>, …}
      func.func private @score_0(%product: f32, %query: i32, %key: i32) -> f32 attributes {exec.score = array<i64>, exec.weight_type = f32} { … }

    A mask becomes a second function, with which the library skips blocks of keys that are masked for all queries of a block.

    Input: exec.softmax_dot whose inputs are contiguous along the keys or do not vary along them. Output: none remains.
    Numerics: sums are taken block by block; weights below exp(-87) are 0.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect", "::mlir::func::FuncDialect"];
}

def CpuLowerOpsPass : Pass<"cpu-lower-ops", "::mlir::ModuleOp"> {
  let summary = "Turns StableHLO ops that stand alone into calls of the runtime";
  let description = [{
    What fusion left alone runs as a kernel of the runtime's library, each of which has
    an op with typed attributes (LibraryOps.td). Regions over scalars become an
    enumerator where they are well known, and functions otherwise.

    Before:
      %r = stablehlo.sort(%a) {dimension = 0} ({ … stablehlo.compare LT, %x, %y … })
    After:
      %r = exec.sort(%a) {comparator = #exec.comparator<lt>, dimension = 0 : i64,
                          aliases = array<i64: 0, 0>}

    Custom calls become `exec.custom_call`, or `exec.top_k` where they stand for it; collectives become `exec.collective_start` and `_done` with
    groups of ranks. Elementwise ops become kernels of their own.

    Expects: static shapes, control flow only in while, if and case. Gives: no StableHLO
    ops but constants, tokens, control flow, and reshapes and bitcasts, which are
    other views of memory. An op that nothing can run is an error (E4004).
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect", "::tilewright::tile::TileDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::complex::ComplexDialect", "::mlir::affine::AffineDialect",
                           "::mlir::func::FuncDialect"];
}

def CpuPrintCodePass : Pass<"cpu-print-code", "::mlir::ModuleOp"> {
  let summary = "Compiles the kernels of a module and prints the code";
  let description = [{
    For tests and for looking: the module is not changed. The chip is the one of
    `exec.target`, or this machine's.
  }];
  let options = [Option<"level", "level", "std::string", "\"llvm\"",
                        "What to print: llvm, llvm-optimized or asm">,
                 Option<"chip", "chip", "std::string", "\"\"", "A row of the chip table">,
                 Option<"threads", "threads", "unsigned", "1", "Threads of the code generator">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

#endif // TILEWRIGHT_TARGET_CPU_PASSES_TD
