#ifndef TILEWRIGHT_IMPORT_PASSES_TD
#define TILEWRIGHT_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyImportedPass : Pass<"import-verify", "::mlir::ModuleOp"> {
  let summary = "Fails with E1106 or E1107 if the module is not a StableHLO program";
  let description = [{
    Checks what import gives, in one walk:
    - All ops are of func, stablehlo or sdy (E1106).
    - No function calls itself, directly or through others (E1107).
    `importArtifact` reads bytes, so it is not a pass, but it ends with the same check.
  }];
}

#endif // TILEWRIGHT_IMPORT_PASSES_TD
