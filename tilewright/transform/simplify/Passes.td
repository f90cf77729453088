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

    The custom call ApproxTopK becomes a sort by its comparator. JAX's control_dep, which only requests
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
    count get the attribute `exec.trip_count`.
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
           "Check after every rewrite that it decreased the measure of its rule; slow">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
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
