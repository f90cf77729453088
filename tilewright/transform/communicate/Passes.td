#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyCollectivesPass : Pass<"communicate-simplify", "::mlir::func::FuncOp"> {
  let summary = "Removes collectives whose results are known, unused or computed twice";
  let description = [{
    Before:  %a = stablehlo.all_reduce(%x)         After:  %s = stablehlo.add %x, %y
             %b = stablehlo.all_reduce(%y)                 %c = stablehlo.all_reduce(%s)
             %c = stablehlo.add %a, %b

    - A collective without uses is erased, on all ranks alike.
    - Of two equal collectives of the same values, the second takes the first one's result.
    - A sum (difference, maximum, minimum) of two reductions of the same ranks is reduced once.
    - A reduction of which each rank keeps only its own part becomes a reduce_scatter.
    - A reduction of a value that is the same on all its ranks (`exec.replicated`) is arithmetic.

    Input: the program of one device. Output: the same meaning. Numerics: sums of floats are added
    in another order, which README.md permits.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def MoveOutOfLoopsPass : Pass<"communicate-move-out-of-loops", "::mlir::func::FuncOp"> {
  let summary = "Moves collectives out of loops that do not need them in every iteration";
  let description = [{
    A collective of values from outside runs once, in front of the loop. A sum that a loop accumulates
    is accumulated on each rank and reduced once, after the loop:

    Before:  while(%acc = %init) { %s = stablehlo.all_reduce(%x); %n = stablehlo.add %acc, %s }
    After:   %sum = while(%acc = 0) { %n = stablehlo.add %acc, %x }
             %r = stablehlo.add %init, stablehlo.all_reduce(%sum)

    Small sums that a loop stores slice by slice (dynamic_update_slice into zeros) are reduced
    together after the loop too.

    Input: the program of one device. Output: the same meaning; at most `memory` percent more of the
    program's parameters, results and loop state. Numerics: sums of floats are added in another order.
  }];
  let options = [Option<"memory", "memory", "int64_t", "CommunicateOptions().overlapMemory",
                        "Max additional memory, in percent">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def PipelineLoopsPass : Pass<"communicate-pipeline-loops", "::mlir::func::FuncOp"> {
  let summary = "Runs the collectives of an iteration beside the computation of another";
  let description = [{
    Backward: an all_gather of values that depend only on the loop's counters (the weights of layer i) is
    issued one iteration earlier, and the loop carries its result.

    Before:  while(%i) { %w = all_gather(slice(%all, %i)); %y = dot(%x, %w) }
    After:   %w0 = all_gather(slice(%all, 0))
             while(%i, %w = %w0) { %next = all_gather(slice(%all, %i + 1)); %y = dot(%x, %w); return %next }

    Forward: a sum that is only stored in a stack (the gradient of layer i) is reduced and stored one
    iteration later; the last one is reduced and stored after the loop.

    In both forms start and done of a collective stay in one block. The last gather and the first sum are not
    needed: loops of fewer than 4 iterations are not changed.

    Input: the program of one device; `exec.trip_count` on counting loops. Output: the same meaning; at most
    `memory` percent more of the program's parameters, results and loop state. Numerics: unchanged.
  }];
  let options = [Option<"memory", "memory", "int64_t", "CommunicateOptions().overlapMemory",
                        "Max additional memory, in percent">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def CombineCollectivesPass : Pass<"communicate-combine", "::mlir::func::FuncOp"> {
  let summary = "Combines collectives of the same ranks into one, up to a size";
  let description = [{
    Before:  %a = stablehlo.all_reduce(%x)         After:  %a, %b = stablehlo.all_reduce(%x, %y)
             %b = stablehlo.all_reduce(%y)

    Combines all_reduces of the same reduction, all_gathers and all_to_alls along the same dimensions, and small
    reduce_scatters (through a concatenation), if neither depends on the other. A combined
    collective takes no more tensors once it has `bytes` bytes: the latency is then a small part of
    its time, and a larger one would only begin later.

    Input: the program of one device. Output: the same ops in an order that respects all
    dependences; ops with side effects keep their order. Numerics: unchanged.
  }];
  let options = [Option<"bytes", "bytes", "int64_t", "CommunicateOptions().combineBytes",
                        "Bytes at which a combined collective is full; -1 for the target's, 0 for none">,
                 Option<"cluster", "cluster", "std::string", "",
                        "The cluster whose prices decide; typical rates of the target if empty">];
  let statistics = [Statistic<"numCombined", "collectives-combined", "Collectives that became part of another">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def WindowProductsPass : Pass<"communicate-window-products", "::mlir::func::FuncOp"> {
  let summary = "Sends collectives in pieces beside the products that make or read them";
  let description = [{
    A product whose operand is gathered waits for all of it, and a sum waits for all of a product. In pieces
    both proceed at the same time: a piece is sent while another one is multiplied (collective matmul).

    Before:  %g = all_gather(%x) along 0           After:  %x1 = collective_permute(%x)    // of the next rank
             %y = dot(%g, %w)                              %y0 = dynamic_update_slice(%zeros, dot(%x, %w), %rank * 16)
                                                           %y  = dynamic_update_slice(%y0, dot(%x1, %w), (%rank + 1) mod 2 * 16)

    Before:  %y = dot(%x, %w)                      After:  %s1 = collective_permute(dot(%x[rows of the next rank], %w))
             %s = reduce_scatter(%y) along 0               %s  = add %s1, dot(%x[own rows], %w)

    Before:  %y = dot(%x, %w)                      After:  %s0 = all_reduce(dot(%x[0:16], %w))
             %s = all_reduce(%y)                           %s1 = all_reduce(dot(%x[16:32], %w))
                                                           %s  = concatenate %s0, %s1

    A window of n ranks has n products and n - 1 permutes, straight-line code without a loop, so that other
    steps can run between them. Equal windows are taken together if the predicted time of the block falls.

    Input: the program of one device. Output: the same meaning. Numerics: a reduce_scatter adds in the order of a
    ring, and a product along whose sums pieces are gathered adds piece by piece, small floats in f32.
  }];
  let options = [Option<"cluster", "cluster", "std::string", "",
                        "The cluster whose prices decide; typical rates of the target if empty">,
                 Option<"always", "always", "bool", "false", "Whatever it costs; for tests">];
  let statistics = [Statistic<"numWindows", "windows", "Collectives that are sent in pieces">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def DeviceFormsPass : Pass<"communicate-device-forms", "::mlir::func::FuncOp"> {
  let summary = "Writes collectives in the forms that a library for GPUs knows";
  let description = [{
    NCCL gathers, scatters and exchanges along the outermost dimension, and reduces its own types by sum,
    product, and integers by maximum and minimum. Other collectives are written with these:

    Before:  %r = stablehlo.all_gather(%x) along 1     After:  %g = stablehlo.all_gather(reshape %x) along 0
                                                               %r = reshape(transpose %g)

    - all_gather, reduce_scatter, all_to_all along other dimensions: the group becomes a dimension of
      its own, outermost, and a transpose moves it.
    - i1: `and`, `or`, `xor` are minimum, maximum and sum of ui8. Integers of 2, 4 and 16 bits: wider ones.
    - Maximum and minimum of floats: of integers that have the order of the floats, and in which a NaN wins.
      NCCL's own would drop it.
    - Sums of complex numbers: of their real and imaginary parts.
    - Other reductions: each rank gathers all values (for a reduce_scatter, all parts that are its own), and
      combines them in the order of the group.

    Does nothing if the target is not a GPU.

    Input: the program of one device. Output: the same meaning. A reduction stays as it is, and is
    refused when it runs, if its groups have several sizes, if it is an unknown function of more than 64 ranks, or
    if the function is not elementwise. Numerics: unchanged.
  }];
  let options = [Option<"always", "always", "bool", "false", "For every target; for tests">];
  let statistics = [Statistic<"numRewritten", "collectives-rewritten", "Collectives written in another form">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def VerifyCollectivesPass : Pass<"communicate-verify", "::mlir::func::FuncOp"> {
  let summary = "Fails with E2031 if a collective names ranks that do not exist";
  let description = [{
    Checks the groups of every collective, and that no rank is in two groups. The order of
    collectives is proved later, on the program's CommPlan.
  }];
}

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_PASSES_TD
