// Attention, before a target decides how to compute it.
#ifndef TILEWRIGHT_DIALECT_EXEC_SOFTMAXOPS_TD
#define TILEWRIGHT_DIALECT_EXEC_SOFTMAXOPS_TD

include "tilewright/dialect/exec/ExecBase.td"

include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_SoftmaxDotOp : Exec_Op<"softmax_dot", [Pure, IsolatedFromAbove,
                                                SingleBlockImplicitTerminator<"YieldScoreOp">]> {
  let summary = "The softmax of the scores of queries and keys, times values.";
  let description = [{
    `product[h…, m, k] = sum over d of queries[h…, m, d] * keys[h…, k, d]`
    `score[h…, m, k]   = body(product[h…, m, k], m, k, inputs…)`
    `result[h…, m, n]  = sum over k of softmax over k of score[h…, m, k] * factor[h…, m, k] * values[h…, k, n]`

    `sizes` are those of the dimensions h…, m, k, d, n, in this order. `dims` has, for each operand and then for the result, the number of
    such a dimension for each dimension of the tensor, or -1 for one of size 1. An operand that lacks a dimension is the same along it:
    heads that share keys, for example.

    The body gets the product as f32, the numbers of query and key as i32, and an element of each input. It yields the score, and optionally whether
    the element is visible: where it is not, the score is `masked_score`. It may also yield a factor of the weight, such as that of dropout; without one, the factor is 1. Products are summed in f32. Weights are not divided by their sum before
    the second product, as in the programs for which this op stands, but its result is; before it they are rounded to `weight_type`.
    With `tf32`, both products may round operands of f32 to tf32, as the default precision allows.

    There may be two more results, `row_values`, of f32 and the dimensions h…, m: the maximum of the scores, and the sum over k of exp(score - maximum).
    From them, a backward pass computes weights again.

    ```mlir
    %r = exec.softmax_dot(%q, %k, %v) sizes [2, 64, 64, 32, 32]
         dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>] weights f32
         : (tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32> {
    ^bb0(%product: f32, %query: i32, %key: i32):
      exec.yield_score %product : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands_, DenseI64ArrayAttr:$sizes,
      TypedArrayAttrBase<DenseI64ArrayAttr, "lists of dimensions">:$dims, TypeAttr:$weight_type,
      OptionalAttr<F32Attr>:$masked_score, UnitAttr:$tf32);
  let results = (outs AnyRankedTensor:$result, Variadic<AnyRankedTensor>:$row_values);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $operands_ `)` `sizes` $sizes `dims` $dims `weights` $weight_type (`masked` $masked_score^)? (`tf32` $tf32^)? attr-dict
    `:` functional-type($operands_, results) $body
  }];
  let hasVerifier = 1;
}

def Exec_YieldScoreOp : Exec_Op<"yield_score", [Pure, Terminator, AttrSizedOperandSegments, HasParent<"SoftmaxDotOp">]> {
  let summary = "Returns the score of an element, whether it is visible, and the factor of its weight.";
  let arguments = (ins F32:$score, Optional<I1>:$visible, Optional<F32>:$factor);
  let assemblyFormat = "$score (`visible` $visible^)? (`times` $factor^)? attr-dict `:` type($score)";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Exec_SoftmaxDotBackwardOp : Exec_Op<"softmax_dot_backward", [Pure, IsolatedFromAbove,
                                                SingleBlockImplicitTerminator<"YieldGradientOp">]> {
  let summary = "The gradients of exec.softmax_dot by queries, keys and values.";
  let description = [{
    `product[h…, m, k]   = sum over d of queries[h…, m, d] * keys[h…, k, d]`
    `cotangents[h…, m, k] = sum over n of cotangent[h…, m, n] * values[h…, k, n]`
    `row_dot[h…, m]      = sum over n of cotangent[h…, m, n] * result[h…, m, n]`
    `weight, gradient [h…, m, k] = body(product, cotangents, row_dot, m, k, inputs…)`

    `gradients` lists the results: 0 for `sum over k of gradient * keys`, 1 for `sum over m of gradient * queries`, 2 for `sum over m of weight * cotangent`,
    3 for `row_dot`, of f32 and the dimensions h…, m. Results 1 and 2 are also summed over dimensions h that they lack.

    The operands are queries, keys, values, the cotangent and the result of exec.softmax_dot, or `row_dot` instead of the result if `reads_row_dot`; then inputs, among them its `row_values`. `sizes` and `dims` are as in
    exec.softmax_dot. The body yields also whether an element is visible: if no element of a block is, all its weights and gradients are 0. Before the products,
    weights are rounded to `weight_type` and gradients to `gradient_type`. With `tf32`, all products may round operands of f32 to tf32.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands_, DenseI64ArrayAttr:$sizes,
      TypedArrayAttrBase<DenseI64ArrayAttr, "lists of dimensions">:$dims, TypeAttr:$weight_type,
      TypeAttr:$gradient_type, DenseI64ArrayAttr:$gradients, UnitAttr:$reads_row_dot, UnitAttr:$tf32);
  let results = (outs Variadic<AnyRankedTensor>:$results_);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $operands_ `)` `sizes` $sizes `dims` $dims `weights` $weight_type `gradients` $gradient_type $gradients
    (`reads_row_dot` $reads_row_dot^)? (`tf32` $tf32^)? attr-dict
    `:` functional-type($operands_, $results_) $body
  }];
  let hasVerifier = 1;
}

def Exec_YieldGradientOp : Exec_Op<"yield_gradient", [Pure, Terminator, HasParent<"SoftmaxDotBackwardOp">]> {
  let summary = "Returns the weight and the gradient of an element, and whether it is visible.";
  let arguments = (ins F32:$weight, F32:$gradient, Optional<I1>:$visible);
  let assemblyFormat = "$weight `,` $gradient (`visible` $visible^)? attr-dict `:` type($weight) `,` type($gradient)";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif // TILEWRIGHT_DIALECT_EXEC_SOFTMAXOPS_TD
