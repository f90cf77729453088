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

#endif // TILEWRIGHT_TARGET_NVPTX_PASSES_TD
