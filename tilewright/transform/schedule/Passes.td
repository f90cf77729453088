#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ClaimDonationsPass : Pass<"schedule-claim-donations", "::mlir::func::FuncOp"> {
  let summary = "Says which result takes over which donated parameter";
  let description = [{
    A caller may give a parameter's memory away (`tf.aliasing_output = 1 : i32`
    names the result, `jax.buffer_donor` leaves the choice). This pass chooses the
    first free result of the same type.

    Before:  func @main(%x: tensor<8xf32> {jax.buffer_donor = true}) -> tensor<8xf32>
    After:   func @main(%x: tensor<8xf32> {jax.buffer_donor = true}) -> (tensor<8xf32> {exec.alias_of = 0 : i64})

    Expects: a function with static shapes. Gives: each parameter is claimed by
    one result at most.
  }];
}

def InsertCopiesPass : Pass<"schedule-insert-copies", "::mlir::func::FuncOp"> {
  let summary = "Copies every value where control flow forces it into one place";
  let description = [{
    A loop's values live in fixed memory, a branch's results too, and so do the
    results of the function. This pass copies into them, always; the assignment
    of buffers then puts most copies' two sides into one place, where they cost
    nothing.

    Before:  %r = stablehlo.while(%i = %a) … do { …; return %next }
    After:   %c = exec.copy %a
             %r = stablehlo.while(%i = %c) … do { …; %n = exec.copy %next; return %n }

    A body that yields another loop value than its own (`return %j, %i`) gets two
    copies, through a temporary, because all values change at once.

    Expects: launches, library calls and control flow on tensors. Gives: operands
    of loops, of region terminators and of the function's return are results of
    exec.copy, except a loop value that its body passes on unchanged.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def AssignBuffersPass : Pass<"schedule-assign-buffers", "::mlir::func::FuncOp"> {
  let summary = "Gives every value a slice of an allocation";
  let description = [{
    Values that must share memory (a loop's, a reshape's) are one class; values
    that may (a copy's two sides, an input that a kernel may overwrite) join a
    class if their lifetimes allow it. A class is a parameter, a result, a
    constant or a part of one arena; parts whose classes never live at one time overlap.

    Expects: schedule-insert-copies. Gives: `exec.allocations` on the function,
    `exec.slices` on every op with results, `exec.argument_slices` on every op with regions.
  }];
  let statistics = [
    Statistic<"numCopies", "copies", "Copies that move bytes">,
    Statistic<"numElided", "copies-elided", "Copies whose two sides share a place">,
    Statistic<"arenaBytes", "arena-bytes", "Size of the arena">,
  ];
}

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_TD
