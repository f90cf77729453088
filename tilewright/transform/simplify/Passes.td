#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_TD
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def InlinePass : Pass<"simplify-inline", "::mlir::ModuleOp"> {
  let summary = "Makes @main one flat function: calls and composites are replaced by what they call";
  let description = [{
    Before:
      %y = call @gelu(%x)                                 (and gelu calls others)
      %z = stablehlo.composite "example.scale" %y {decomposition = @scale}
      %e = stablehlo.composite "chlo.erf" %z {decomposition = @erf}
    After: the bodies of gelu, of what it calls and of scale stand in @main;
      %e = stablehlo.composite "chlo.erf" %z {decomposition = @erf}
    because "chlo.erf" is in `keep`: a target has its own code for it. Functions
    that nobody refers to any more are gone.

    The custom call ApproxTopK becomes a sort by the function that it names. Asynchronous starts of plain ops become those ops, and each location names the call it came
    through.

    Expects: a verified module without recursion. Gives: no func.call, and no composite whose
    name is not in `keep`. Fails with E2001 if the result would have more than `max-ops` ops.
    Numerics: none change.
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "5'000'000", "Most ops after inlining">,
    ListOption<"keep", "keep", "std::string",
               "Composites that a target has its own code for; by default chlo.erf and chlo.top_k">];
  let statistics = [Statistic<"numInlined", "calls-inlined", "Calls and composites inlined">];
}

def CanonicalizePass : Pass<"simplify-canonicalize", "::mlir::func::FuncOp"> {
  let summary = "Rewrites ops into fewer, cheaper and plainer ones until nothing changes";
  let description = [{
    Constants are folded by the evaluator, identities removed, movements combined, legacy ops
    expanded into modern ones, loops and branches simplified; README.md has the list.

    Before:
      %0 = stablehlo.transpose %x, dims = [1, 0]
      %1 = stablehlo.transpose %0, dims = [1, 0]
      %2 = stablehlo.add %1, %zero        (integers)
    After: %x

    Expects: verified StableHLO. Gives: the same meaning with no more ops, except where
    a legacy op is expanded. Loops whose number of turns is known carry `exec.trip_count`.
    Numerics: identities are exact, for NaN and signed zeros too. Division by a power of two becomes a
    multiplication, x^2 becomes x*x (both exact); batch_norm is computed in its element type.
  }];
  let options = [
    Option<"maxFoldElements", "max-fold-elements", "int64_t", "4096",
           "Largest constant that folding may make; 0 folds nothing">,
    Option<"maxFoldSteps", "max-fold-steps", "int64_t", "1 << 20",
           "Most scalar operations that folding one op may take">];
  let dependentDialects = ["::tilewright::stablehlo::StablehloDialect"];
}

def FinishPass : Pass<"simplify-finish", "::mlir::func::FuncOp"> {
  let summary = "Removes what only simplification itself had to see, and closes scalar regions";
  let description = [{
    Optimization barriers become their operands: they keep common code apart, so they must go after the
    last pass that looks for it. A scalar constant that a reduction's body (or another scalar
    region) uses from outside is copied into the body, so that it can be compiled by itself.
    Expects: simplified StableHLO. Gives: no optimization_barrier; scalar regions without
    outer constants. Numerics: none change.
  }];
}

def VerifySimplifiedPass : Pass<"simplify-verify", "::mlir::func::FuncOp"> {
  let summary = "Fails with E2002 where an op is left that simplification replaces";
  let description = [{
    The contract of the stage, checked: no calls, no tuples, no legacy ops, no tensors of dynamic shape.
  }];
}

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_TD
