#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OrderPass : Pass<"schedule-order", "::mlir::func::FuncOp"> {
  let summary = "Orders steps so that collectives overlap computation";
  let description = [{
    A collective is in progress from its start to its done, and other steps may run in
    between. This pass issues starts as soon as their operands exist, and delays steps
    that read the result while others can run. It predicts the time and the peak memory of
    several orders and takes the fastest one that stays within the memory limit; if none is
    faster, the order does not change. Start and done stay in their block.

    Before:  %s = exec.collective_start(%g1); %r = exec.collective_done(%s)
             %p = exec.launch @update(%r); %g0 = exec.dot_general(%x, %d)
    After:   %s = exec.collective_start(%g1); %g0 = exec.dot_general(%x, %d)
             %r = exec.collective_done(%s); %p = exec.launch @update(%r)

    A passed remark of category "schedule" states how much of the collectives' time is
    predicted to be hidden, a missed one that nothing is.

    Input: launches, library calls, collectives and control flow on tensors. Output: the
    same ops. Ops with side effects keep their order. Numerics: unchanged.
  }];
  let options = [
    Option<"overlap", "overlap", "bool", "CommunicateOptions().overlap", "Whether to change anything">,
    Option<"overlapMemory", "overlap-memory", "int64_t", "CommunicateOptions().overlapMemory",
           "Max additional memory, in percent of the peak">,
    Option<"cluster", "cluster", "std::string", "", "The cluster whose prices count, such as h100x64; if empty, typical ones">];
}

def CompareOrdersPass : Pass<"schedule-compare-orders", "::mlir::func::FuncOp"> {
  let summary = "Prints what several orders of steps take on a cluster";
  let description = [{
    For studies. Simulates one step of the function on a cluster (`predict/`) in the program's
    own order, in those of XLA's GPU compiler without and with its latency-hiding scheduler
    (XlaOrder.h), and in the order that schedule-order takes, and prints seconds, computation and exposed
    communication of each. Only the order differs: all have the same steps at the same prices.

    Input: as schedule-order, with collectives outside of loops. Output: the same function.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"h100x64\"", "The cluster whose prices count">,
    Option<"overlapMemory", "overlap-memory", "int64_t", "CommunicateOptions().overlapMemory",
           "Max additional memory of our order, in percent of the peak">];
}

def ClaimDonationsPass : Pass<"schedule-claim-donations", "::mlir::func::FuncOp"> {
  let summary = "Assigns donated parameters to results";
  let description = [{
    A caller may donate a parameter's memory (`tf.aliasing_output = 1 : i32` names
    the result that uses it, `jax.buffer_donor` leaves the choice to us). First, a
    parameter that is returned unchanged is assigned to that result, which saves a
    copy. Then the results that the caller named get their parameters. Finally, each
    other donated parameter is assigned to the first free result of the same type
    and memory kind.

    Before:  func @main(%x: tensor<8xf32> {jax.buffer_donor = true}) -> tensor<8xf32>
    After:   func @main(%x: tensor<8xf32> {jax.buffer_donor = true}) -> (tensor<8xf32> {exec.alias_of = 0 : i64})

    Input: a function with static shapes. Output: `exec.alias_of` on results; each
    parameter is claimed by at most one result.
  }];
}

def InsertCopiesPass : Pass<"schedule-insert-copies", "::mlir::func::FuncOp"> {
  let summary = "Inserts copies where control flow determines the buffer of a value";
  let description = [{
    The values that a loop carries, the results of a branch and the results of the
    function are in fixed memory, and an input that a custom call or a launch `in_place`
    aliases with a result is in the memory of that result. This pass always inserts a copy into that
    memory. schedule-assign-buffers then assigns the same buffer to the source and the
    result of most copies, so that these copies are free.

    Before:  %r = stablehlo.while(%i = %a) … do { …; return %next }
    After:   %c = exec.copy %a
             %r = stablehlo.while(%i = %c) … do { …; %n = exec.copy %next; return %n }

    The copies of one op are a parallel copy: all values change simultaneously. A copy
    that reads a loop value, or a parameter whose memory a result takes over, precedes
    the copy that overwrites that memory. If the copies form a cycle (`return %j, %i`),
    one of them goes through a temporary.

    Input: the output of schedule-claim-donations: launches, library calls and control
    flow on tensors. Output: operands of loops, of region terminators and of the
    function's return, and inputs that must share a result's memory, are results of exec.copy.
  }];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def AssignBuffersPass : Pass<"schedule-assign-buffers", "::mlir::func::FuncOp"> {
  let summary = "Assigns every value a slice of an allocation";
  let description = [{
    Values that must share memory (the carried values of a loop, the operand and the
    result of a reshape) form a class. Values that can share memory (the source and
    the result of a copy, an input that a kernel may overwrite) are joined if their
    lifetimes permit it. A class is stored in a parameter, a result, a constant or a
    part of the arena; two parts may overlap if their classes are never live at the
    same time.

    Input: the output of schedule-insert-copies. Output: `exec.allocations` on the function,
    `exec.slices` on every op with results, `exec.argument_slices` on every op with regions.
  }];
}

def VerifyPlanPass : Pass<"schedule-verify", "::mlir::func::FuncOp"> {
  let summary = "Checks that every value is still in memory when it is read";
  let description = [{
    Simulates the plan, with a claimed parameter and its result in the same memory.
    Fails with E2020 if a value has no slice of an allocation, or if an op reads
    overwritten memory, writes over its own operand, or writes into read-only memory. Loops are simulated as if they ran more than once.

    Input: the output of schedule-assign-buffers. Output: the same function. Takes
    O(n log n) time in the number of ops, times the nesting depth of loops.
  }];
}

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_PASSES_TD
