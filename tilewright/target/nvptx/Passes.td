#ifndef TILEWRIGHT_TARGET_NVPTX_PASSES_TD
#define TILEWRIGHT_TARGET_NVPTX_PASSES_TD

include "mlir/Pass/PassBase.td"

def NvptxAttachTargetPass : Pass<"nvptx-attach-target", "::mlir::ModuleOp"> {
  let summary = "Writes what the GPU can do as the module's `exec.target`";
  let description = [{
    Stages read the machine from this attribute and never include a target.

    Before:  module { … }
    After:   module attributes {exec.target = #exec.target<chip = "sm_90a", units = 132, gpu = <…>, …>} { … }
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_90a\"", "A row of the chip table">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def NvptxPrintCodePass : Pass<"nvptx-print-code", "::mlir::ModuleOp"> {
  let summary = "Compiles the `sm.kernel`s of a module and prints the code";
  let description = [{
    For tests and for looking: the module is not changed. The chip is the one of
    `exec.target`, or `sm_90a`. The level `budget` assembles the code and prints what ptxas says
    of each kernel: registers, spills, shared memory.
  }];
  let options = [Option<"level", "level", "std::string", "\"llvm\"",
                        "What to print: nvvm (MLIR), llvm, llvm-optimized, ptx or budget">,
                 Option<"chip", "chip", "std::string", "\"\"", "A row of the chip table">,
                 Option<"ptxas", "ptxas", "std::string", "\"\"",
                        "The assembler; looked for if empty">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def NvptxApproximatePass : Pass<"nvptx-approximate", "::mlir::ModuleOp"> {
  let summary = "Computes functions of f32 with fewer instructions, as compile.gpu-accuracy allows";
  let description = [{
    An accurate exponential is a polynomial, and an accurate division has a subroutine for the ends of the range. The level `balanced`
    changes a softmax of rows: its exponents are at most 0, its sums at least 1, and numerators and sums may have any scale in common.
    With the scale 2^64, subnormal results need no instructions of their own. `fast` uses approximate instructions for every
    function that has one. `full` changes nothing.

    Before:
      %e = tile.map(%x, %m) { %d = arith.subf %x, %m; math.exp %d }      // m: the maximum of x along rows
      %s = tile.reduce %e { arith.addf }
      %r = tile.map(%e, %s) { arith.divf %e, %s }
    After, `balanced`:
      %e = tile.map(%x, %m) { …; %f = (x - m) log2(e) - n; %p = math.exp2 %f fastmath<afn>; p * 2^(n + 64) }
      %s = tile.reduce %e { arith.addf }
      %i = tile.map(%s, %m) { …; arith.divf 1.0, %s fastmath<arcp> }
      %r = tile.map(%e, %i) { arith.mulf %e, %i }

    Expects: tiled kernels. Gives: the same, where numerators and sums of a softmax have no other users.
    Numerics: docs/reference/gpu-accuracy.md has the bounds of each level.
  }];
  let options = [Option<"accuracy", "accuracy", "std::string", "\"balanced\"", "full, balanced or fast">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // TILEWRIGHT_TARGET_NVPTX_PASSES_TD
