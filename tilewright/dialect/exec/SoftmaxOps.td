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
    `result[h…, m, n]  = sum over k of softmax over k of score[h…, m, k] * values[h…, k, n]`

    `sizes` are those of the dimensions h…, m, k, d, n, in this order. `dims` has, for each operand and then for the result, the number of
    such a dimension for each dimension of the tensor, or -1 for one of size 1. An operand that lacks a dimension is the same along it:
    heads that share keys, for example.

    The body gets the product as f32, the numbers of query and key as i32, and an element of each input. It yields the score, and optionally whether
    the element is visible: where it is not, the score is `masked_score`. Products are summed in f32. Weights are not divided by their sum before
    the second product, as in the programs for which this op stands, but its result is; before it they are rounded to `weight_type`.
    With `tf32`, both products may round operands of f32 to tf32, as the default precision allows.

    ```mlir
    %r = exec.softmax_dot(%q, %k, %v) sizes [2, 64, 64, 32, 32] dims [[0, 1, 3], [0, 2, 3], [0, 2, 4], [0, 1, 4]] weights f32
         : (tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32> {
    ^bb0(%product: f32, %query: i32, %key: i32):
      exec.yield_score %product : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands_, DenseI64ArrayAttr:$sizes,
      TypedArrayAttrBase<DenseI64ArrayAttr, "lists of dimensions">:$dims, TypeAttr:$weight_type,
      OptionalAttr<F32Attr>:$masked_score, UnitAttr:$tf32);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $operands_ `)` `sizes` $sizes `dims` $dims `weights` $weight_type (`masked` $masked_score^)? (`tf32` $tf32^)? attr-dict
    `:` functional-type($operands_, $result) $body
  }];
  let hasVerifier = 1;
}

def Exec_YieldScoreOp : Exec_Op<"yield_score", [Pure, Terminator, HasParent<"SoftmaxDotOp">]> {
  let summary = "Returns the score of an element, and whether it is visible.";
  let arguments = (ins F32:$score, Optional<I1>:$visible);
  let assemblyFormat = "$score (`visible` $visible^)? attr-dict `:` type($score)";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif // TILEWRIGHT_DIALECT_EXEC_SOFTMAXOPS_TD
