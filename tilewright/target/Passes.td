#ifndef TILEWRIGHT_TARGET_PASSES_TD
#define TILEWRIGHT_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerCustomCallsPass : Pass<"lower-custom-calls", "::mlir::ModuleOp"> {
  let summary = "Makes custom calls steps of the plan";
  let description = [{
    For targets that compute no custom call themselves. The runtime finds the handlers by name when it loads the program. Calls that
    stand for an op of another dialect (`mhlo.topk`) stay: no handler computes them.

    Before:  %y = stablehlo.custom_call @scale(%x) {api_version = 4 : i32, backend_config = {by = 2 : i64}} : …
    After:   %y = exec.custom_call "scale"(%x) {api_version = 4 : i32, config = {by = 2 : i64}} : …
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def LowerCollectivesPass : Pass<"lower-collectives", "::mlir::ModuleOp"> {
  let summary = "Makes collectives and the numbers of ranks steps of the plan";
  let description = [{
    For targets whose collectives an engine executes on the device. Each collective becomes a start and a done, next to each other: the stage
    `schedule` moves them apart. A reduction that is not a single operation is refused (E4070).

    Before:  %y = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ … add … }) : …
    After:   %0 = exec.collective_start …(%x) {groups = dense<[[0, 1]]> : tensor<1x2xi64>, id = 0 : i64} : …
             %y = exec.collective_done %0 {id = 0 : i64} : …
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def VerifyLoweredPass : Pass<"lower-verify", "::mlir::ModuleOp"> {
  let summary = "Fails with E2101 or E2041 if something is left that is not a step or a kernel of the target";
  let description = [{
    Checks the output of the stage `lower`, for every target, in one walk:
    - Each op of a public function is a step of the plan: an op of exec except fusions, a constant, control flow, a token, or a view of memory
      (reshape, bitcast_convert). Any other op is reported with E2101.
    - Each launch names a kernel in the form that the target compiles: `sm.kernel` for a GPU, else `tile.kernel`. No kernel has the other form (E2041).
    - An `exec.collective_done` takes the results of the `exec.collective_start` of the same id in the same block, and no other op does (E2041).
    The verifier of `sm.kernel` checks that every tile has a layout.
  }];
}

def VerifyGpuOpsPass : Pass<"verify-gpu-ops", "::mlir::ModuleOp"> {
  let summary = "Fails with E4070 where an op is left that no kernel computes";
  let description = [{
    A GPU has no library yet: what fusion and tiling did not make a kernel of cannot run. Expects what
    `tile-fusions` and `lower-custom-calls` give; constants, control flow, tokens, calls of handlers, and reshapes and bitcasts, which
    are other views of memory, may stand beside launches.
  }];
}

#endif // TILEWRIGHT_TARGET_PASSES_TD
