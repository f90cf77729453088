#ifndef TILEWRIGHT_TRANSFORM_FUSE_PASSES_TD
#define TILEWRIGHT_TRANSFORM_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitReducePass : Pass<"fuse-split-reduce", "::mlir::func::FuncOp"> {
  let summary = "Runs a large reduction to few elements in two levels, so that threads can share it";
  let description = [{
    Before:
      %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
           : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    After:
      %r = stablehlo.reshape %x : (tensor<1048576xf32>) -> tensor<256x4096xf32>
      %p = stablehlo.reduce(%r init: %z) … across dimensions = [1]      (256 rows, independent)
      %s = stablehlo.reduce(%p init: %z) … across dimensions = [0]

    Expects: simplified StableHLO. Gives: no reduction over `min-elements` or more
    elements has fewer than 64 results, where its size has a fitting divisor; others are reported as missed remarks.
    Numerics: the order of the sum changes, which `reduce` leaves open; the initial value enters more
    than once, which it allows too.
  }];
  let options = [Option<"minElements", "min-elements", "int64_t", "65536",
                        "Fewest elements of a reduction that is split; 0 splits none">];
  let statistics = [Statistic<"numSplit", "reduces-split", "Reductions split">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def FusePass : Pass<"fuse-group", "::mlir::func::FuncOp"> {
  let summary = "Groups ops into `exec.fusion`, each of which becomes one kernel";
  let description = [{
    Before:
      %0 = stablehlo.exponential %x
      %1 = stablehlo.broadcast_in_dim %s, dims = []
      %2 = stablehlo.multiply %0, %1
    After:
      %2 = exec.fusion "exponential_multiply"(%x, %s) {
      ^bb0(%a, %b):  the three ops  }

    Ops join where they compute the same elements, or the same rows around a reduction. Ops that
    cost nothing (broadcast, iota, reshape, slice, convert) are copied into each fusion that reads
    through them. Every join is a passed remark of category "fuse", every refusal a missed one with its
    reason. The regions of while, if and case are grouped by themselves.

    Expects: simplified StableHLO of static shapes. Gives: each op is an exec.fusion, a
    StableHLO op for the library, a reshape or bitcast_convert (other names for the same memory), a
    constant, or control flow. Numerics: none change.
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "256", "Most ops in one fusion">,
    Option<"maxOperands", "max-operands", "int64_t", "64",
           "Most inputs and outputs of one fusion, taken together">];
  let statistics = [
    Statistic<"numFusions", "fusions", "Fusions made">,
    Statistic<"numFused", "ops-fused", "Ops in fusions">,
    Statistic<"numRefused", "joins-refused", "Joins refused">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def FuseProductsPass : Pass<"fuse-products", "::mlir::func::FuncOp"> {
  let summary = "On a GPU: a kernel for each op, and products with what they read and what goes on with them";
  let description = [{
    A GPU has no library of kernels yet, so an op that stands alone becomes a fusion, and a
    product of matrices joins the fusions around it: cheap elementwise ops and movements that only
    it reads (a dequantisation, also with scales of groups, which come by way of reshapes; a transposition), and elementwise ops that are the only reader of its elements (bias,
    activation, residual, conversion).

    Before:
      %w = exec.fusion "convert"(%q) …
      %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      %r = exec.fusion "add_tanh"(%d, %bias) …
    After:
      %r = exec.fusion "convert_dot_general_add_tanh"(%q, %x, %bias) …

    Expects: what fuse-group gives. Gives: the same; nothing changes unless `exec.target` has the kind "gpu".
    Numerics: none change.
  }];
  let statistics = [
    Statistic<"numJoined", "products-joined", "Fusions that joined a product">,
    Statistic<"numRefused", "products-refused", "Fusions beside a product that did not">];
  let dependentDialects = ["::tilewright::exec::ExecDialect"];
}

def VerifyFusedPass : Pass<"fuse-verify", "::mlir::func::FuncOp"> {
  let summary = "Fails with E2010 where a fusion holds an op that no kernel can, or an elementwise op stands alone";
  let description = [{ The contract of the stage, checked. }];
}

def PrintFusionsPass : Pass<"fuse-print", "::mlir::func::FuncOp"> {
  let summary = "Prints each fusion on a line: its name, how often it is there, its space, ops and reason";
  let description = [{ For people; `tilewright explain` shows the same. }];
}

#endif // TILEWRIGHT_TRANSFORM_FUSE_PASSES_TD
