// A matrix product of block-scaled operands, before a target decides how to compute it.
#ifndef TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_TD
#define TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_TD

include "tilewright/dialect/exec/ExecBase.td"

include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_ScaledDotOp : Exec_Op<"scaled_dot", [Pure, AttrSizedOperandSegments]> {
  let summary = "A matrix product of elements with one scale for each block of them.";
  let description = [{
    `result[b…, m…, n…] = sum over k of (lhs[b…, m…, k] * lhs_scale[b…, m…, k / block])
                                      * (rhs[b…, n…, k] * rhs_scale[b…, n…, k / block])`

    The dimensions may be in any order, as in `stablehlo.dot_general`, but each side has one contracting dimension. A
    scale has as many dimensions as its side: along the contracting one, an element for each block of `block` elements,
    of which the last may be shorter; along others, as many elements as the side, or one for all. A side without a
    scale is multiplied as it is.

    Elements times scales are numbers of `factor_type`; sums are f32 and are rounded once, to the result's type. This
    is the meaning: a target that multiplies exactly may also do so, and the expression of StableHLO ops, which
    `fuse-expand-scaled-products` makes of the op, is always an implementation.

    ```mlir
    %r = exec.scaled_dot %x, %w scaled(%sx : tensor<64x8xf8E4M3FN>) scaled_rhs(%sw : tensor<8x32xf8E4M3FN>)
           block 16 as bf16 {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>,
           lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 0 : i64}
         : tensor<64x128xf4E2M1FN>, tensor<128x32xf4E2M1FN> -> tensor<64x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, Optional<AnyRankedTensor>:$lhs_scale,
                       Optional<AnyRankedTensor>:$rhs_scale, I64Attr:$block, TypeAttr:$factor_type,
                       DenseI64ArrayAttr:$lhs_batching_dimensions, DenseI64ArrayAttr:$rhs_batching_dimensions,
                       I64Attr:$lhs_contracting_dimension, I64Attr:$rhs_contracting_dimension);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`scaled` `(` $lhs_scale^ `:` type($lhs_scale) `)`)?
    (`scaled_rhs` `(` $rhs_scale^ `:` type($rhs_scale) `)`)? `block` $block `as` $factor_type attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Exec_ScaledMatmulOp : Exec_Op<"scaled_matmul", [Pure]> {
  let summary = "A matrix product of elements with scales in the order in which a tensor unit reads them.";
  let description = [{
    `result[b, m, n] = sum over k of (lhs[b, m, k] * scale(lhs, b, m, k / block)) * (rhs[b, n, k] * scale(rhs, b, n, k / block))`

    Both operands have three dimensions, or two without a batch, and are contiguous along the contracted one. Elements of 4 bits may be bytes of two,
    the first in the lower half. A scale is a byte that holds a number of `scale_type`. Scales are in groups of 512 bytes for 128
    rows and 4 blocks, `tensor<B x rows/128 x blocks/4*4 x 128 x ui8>`: row `r` and block `s` have byte
    `r % 32 * 16 + r / 32 % 4 * 4 + s % 4` of group `[b, r / 128, s / 4]`. Rows are padded to multiples of 128, and blocks to those of a line
    of 128 bytes of elements; what the padding holds is multiplied by elements that are zero, and must not be a NaN.

    `fuse-order-scales` makes this op of `exec.scaled_dot` for targets that multiply with scales by themselves.

    ```mlir
    %r = exec.scaled_matmul %x, %w scales %sx, %sw as f4E2M1FN, f4E2M1FN by f8E4M3FN block 16
         : tensor<1x64x128xui8>, tensor<1x32x128xui8>, tensor<1x1x16x128xui8>, tensor<1x1x16x128xui8> -> tensor<1x64x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, AnyRankedTensor:$lhs_scale, AnyRankedTensor:$rhs_scale,
                       TypeAttr:$lhs_type, TypeAttr:$rhs_type, TypeAttr:$scale_type, I64Attr:$block);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `scales` $lhs_scale `,` $rhs_scale `as` $lhs_type `,` $rhs_type `by` $scale_type `block` $block attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($lhs_scale) `,` type($rhs_scale) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of elements along the contracted dimension.
    int64_t getDepth();
  }];
}

#endif // TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_TD
