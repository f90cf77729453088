#ifndef TILEWRIGHT_TARGET_AMDGCN_PASSES_TD
#define TILEWRIGHT_TARGET_AMDGCN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AmdgcnAttachTargetPass : Pass<"amdgcn-attach-target", "::mlir::ModuleOp"> {
  let summary = "Writes what the AMD GPU can do as the module's `exec.target`";
  let description = [{
    Stages read the machine from this attribute and never include a target.

    Before:  module { … }
    After:   module attributes {exec.target = #exec.target<chip = "gfx950", units = 256, gpu = <warp_size = 64, …>, …>} { … }
  }];
  let options = [Option<"chip", "chip", "std::string", "\"gfx950\"", "A row of the chip table">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def AmdgcnPrintCodePass : Pass<"amdgcn-print-code", "::mlir::ModuleOp"> {
  let summary = "Compiles the `sm.kernel`s of a module for an AMD GPU and prints the code";
  let description = [{
    For tests and for looking: the module is not changed. The chip is the one of
    `exec.target`, or `gfx950`. The level `budget` prints what LLVM notes of each kernel: registers,
    spills, LDS.
  }];
  let options = [Option<"level", "level", "std::string", "\"llvm\"",
                        "What to print: mlir, llvm, llvm-optimized, asm or budget">,
                 Option<"chip", "chip", "std::string", "\"\"", "A row of the chip table">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

#endif // TILEWRIGHT_TARGET_AMDGCN_PASSES_TD
