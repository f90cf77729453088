#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_TD
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def InlinePass : Pass<"simplify-inline", "::mlir::ModuleOp"> {
  let summary = "Makes @main one flat function by inlining calls and composites";
  let description = [{
    Before:
      %y = call @gelu(%x)                                 (and gelu calls others)
      %z = stablehlo.composite "example.scale" %y {decomposition = @scale}
      %e = stablehlo.composite "chlo.erf" %z {decomposition = @erf}
    After: the bodies of gelu, of its callees and of scale, inlined into @main, and
      %e = stablehlo.composite "chlo.erf" %z {decomposition = @erf}
    which is kept because "chlo.erf" is in `keep`: targets have their own code for it. Private
    functions that are no longer referenced are erased.

    The composite chlo.ragged_dot becomes a batched product of tiles of its groups, except if it is in `keep`
    (RaggedDot.h). The custom call ApproxTopK becomes a sort by its comparator, and __op$block_scaled_dot a product of
    scaled elements (ScaledDot.h). JAX's control_dep, which only requests
    an order, is removed with a remark. The location of an inlined op names the call that it comes from.

    Input: a verified module without recursion. Output: no func.call, and no composite whose
    name is not in `keep`. Fails with E2001 if the result would have more than `max-ops` ops.
    Numerics: unchanged.
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "SimplifyOptions().maxOps", "Maximum number of ops after inlining">,
    ListOption<"keep", "keep", "std::string",
               "Composites that are not inlined because targets have their own code for them; default: chlo.erf, and chlo.top_k except on GPUs">];
}

def CanonicalizePass : Pass<"simplify-canonicalize", "::mlir::func::FuncOp"> {
  let summary = "Applies all simplification patterns until nothing changes";
  let description = [{
    Folds constants with the evaluator, removes identities, combines data movement, expands legacy
    ops into current ones, and simplifies loops and branches; README.md has the list.

    Before:
      %0 = stablehlo.transpose %x, dims = [1, 0]
      %1 = stablehlo.transpose %0, dims = [1, 0]
      %2 = stablehlo.add %1, %zero        (integers)
    After: %x

    Input: verified StableHLO. Output: an equivalent program with no more ops, except where a
    legacy op is expanded. Fails with E2003 if one op and the ops derived from it were rewritten more
    than `max-rewrites` times. Rules.def explains why rewriting terminates. Loops with a known trip
    count get the attribute `exec.trip_count`. With `keep-shardings`, distribute can use the pass before it divides a
    program, so that devices exchange nothing for values that the result does not depend on.
    Numerics: identities are exact, including NaN and signed zeros. Division by a power of two becomes
    a multiplication and x^2 becomes x*x (both exact); x^3 and x^4 become products, which round once
    more. batch_norm is computed in at least f32.
  }];
  let options = [
    Option<"maxFoldElements", "max-fold-elements", "int64_t", "SimplifyOptions().maxFoldElements",
           "Maximum size of a constant that folding creates; 0 folds nothing">,
    Option<"maxFoldSteps", "max-fold-steps", "int64_t", "SimplifyOptions().maxFoldSteps",
           "Maximum number of scalar operations to fold one op">,
    Option<"maxRewrites", "max-rewrites", "int64_t", "SimplifyOptions().maxRewrites",
           "Maximum number of rewrites of one op and the ops derived from it">,
    Option<"checkProgress", "check-progress", "bool", "false",
           "Check after every rewrite that it decreased the measure of its rule; slow">,
    Option<"keepShardings", "keep-shardings", "bool", "false",
           "Keep shardings, manual computations and collectives: the program is for all devices together">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def ExpandPass : Pass<"simplify-expand", "::mlir::func::FuncOp"> {
  let summary = "For targets without a library, expands ops into ones that kernels can compute";
  let description = [{
    Before:
      %y = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 3>}> ({ add })
           : (tensor<10xf32>, tensor<f32>) -> tensor<8xf32>
    After:
      %0 = stablehlo.slice %x [0:8]
      %1 = stablehlo.slice %x [1:9]
      %2 = stablehlo.slice %x [2:10]
      %3 = stablehlo.add %0, %1
      %4 = stablehlo.add %3, %2
      %y = stablehlo.add %zeros, %4

    Expands reduce_window, select_and_scatter, rng_bit_generator, fft, cholesky, triangular_solve, and
    the custom calls by which JAX factors matrices; expand/README.md has the methods. An op whose body is not elementwise is left alone, and the log
    says why.

    Input: canonical StableHLO. Output: the same, without these ops; unchanged unless `exec.target`
    is a GPU. Numerics: random bits, windows and selections are those of the ops; sums are taken in
    another order, which the ops leave open; transforms and solvers round differently.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect", "::tilewright::exec::ExecDialect"];
}

def ConvolutionsPass : Pass<"simplify-convolutions", "::mlir::func::FuncOp"> {
  let summary = "For targets without a library, splits convolutions of dilated inputs into phases";
  let description = [{
    The gradient of a convolution with stride 2 is a convolution whose input has a zero between two
    elements. Positions with the same remainder by 2 (a phase) use every second tap, and no zeros:

    Before:
      %y = stablehlo.convolution(%x, %w) window = {pad = [[2, 2]], lhs_dilate = [2]}
           : (tensor<1x8x4xf32>, tensor<3x4x4xf32>) -> tensor<1x17x4xf32>
    After:
      %w0 = stablehlo.slice %w [0:3:2, …]                       (taps 0 and 2)
      %w1 = stablehlo.slice %w [1:2, …]                         (tap 1)
      %y0 = stablehlo.convolution(%x, %w0) window = {pad = [[1, 1]]} -> tensor<1x9x4xf32>
      %y1 = stablehlo.convolution(%x, %w1) window = {pad = [[0, 1]]} -> tensor<1x9x4xf32>
      %y = %y0 and %y1 in turn: reshape, concatenate, reshape, slice

    With more than 64 phases, a pad writes the zeros into memory instead.

    Input: canonical StableHLO. Output: no convolution has an lhs_dilation, unless its type is
    quantized or its shape dynamic; unchanged unless `exec.target` is a GPU.
    Numerics: unchanged; products with the zeros between elements are skipped, as in the evaluator.
  }];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect", "::tilewright::exec::ExecDialect"];
}

def FinishPass : Pass<"simplify-finish", "::mlir::func::FuncOp"> {
  let summary = "Removes optimization barriers, and copies constants into scalar regions";
  let description = [{
    Replaces optimization barriers by their operands. Barriers prevent common subexpression
    elimination, so they must be removed after the last CSE pass. Copies each constant that the body
    of a reduction (or another scalar region) uses from outside into the body, so that the body can be
    compiled separately.
    Input: simplified StableHLO. Output: no optimization_barrier; scalar regions do not use constants
    from outside. Numerics: unchanged.
  }];
}

def VerifySimplifiedPass : Pass<"simplify-verify", "::mlir::func::FuncOp"> {
  let summary = "Fails with E2002 if an op remains that simplification should have replaced";
  let description = [{
    Checks the output of the stage, in one walk: no calls, tuples, sharding ops, optimization barriers, legacy ops or
    tensors of dynamic shape.
  }];
}

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_TD
