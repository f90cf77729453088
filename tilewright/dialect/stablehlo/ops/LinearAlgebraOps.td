// Products, solvers, transforms and normalizations.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_LINEARALGEBRAOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_LINEARALGEBRAOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

//===- Products -----------------------------------------------------------===//

def Stablehlo_DotGeneralOp : Stablehlo_Op<"dot_general", [Stablehlo_Pure]> {
  let summary = "Contracts dimensions of two tensors, batch by batch.";
  let description = [{
    `result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]`, where `b`, `k`
    are the batching and contracting dimensions, `m` and `n` the other dimensions

    ```mlir
    %result = stablehlo.dot_general %lhs, %rhs, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$lhs, Stablehlo_AnyTensor:$rhs,
                       Stablehlo_DotDimensionNumbersAttr:$dot_dimension_numbers,
                       OptionalAttr<Stablehlo_PrecisionConfigAttr>:$precision_config,
                       OptionalAttr<Stablehlo_DotAlgorithmAttr>:$algorithm);
  let results = (outs Stablehlo_AnyTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensions>($dot_dimension_numbers)
      `` custom<DotArithmetic>($precision_config, $algorithm)
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_DotOp : Stablehlo_Op<"dot", [Stablehlo_Pure]> {
  let summary = "Product of vectors and matrices (legacy: use dot_general).";
  let description = [{
    `result[m, n] = sum over k of lhs[m, k] * rhs[k, n]`, where `m` or `n` may be absent

    ```mlir
    %result = stablehlo.dot %lhs, %rhs : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$lhs, Stablehlo_AnyTensor:$rhs,
                       OptionalAttr<Stablehlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Stablehlo_AnyTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<Precision>($precision_config)
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_ConvolutionOp : Stablehlo_Op<"convolution", [Stablehlo_Pure]> {
  let summary = "Slides a kernel over an image of any number of spatial dimensions.";
  let description = [{
    `result[b, p, o] = sum over w, i of lhs[b, p * stride + w * rhs_dilation - low, i] * rhs[w, i, o]`,
    within each feature or batch group; positions outside `lhs`, or between its
    dilated elements, count as zero

    ```mlir
    %result = stablehlo.convolution(%image, %kernel)
        dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [2, 2], pad = [[1, 1], [1, 1]]}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$lhs, Stablehlo_AnyTensor:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       Stablehlo_ConvDimensionNumbersAttr:$dimension_numbers,
                       I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       OptionalAttr<Stablehlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Stablehlo_AnyTensor:$result);
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvDimensions>($dimension_numbers) `,`
      `window` `=` custom<Window>($window_strides, $padding, $lhs_dilation, $rhs_dilation,
        $window_reversal)
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_EinsumOp : Stablehlo_Op<"einsum", [Stablehlo_Pure]> {
  let summary = "Product of two tensors in Einstein notation (legacy: use dot_general).";
  let description = [{
    `result[out] = sum over the other letters of lhs[...] * rhs[...]`

    ```mlir
    %result = stablehlo.einsum %lhs, %rhs, config = "ab,bc->ac"
        : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$lhs, Stablehlo_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config
      attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_UnaryEinsumOp : Stablehlo_Op<"unary_einsum", [Stablehlo_Pure]> {
  let summary = "Sum over dimensions in Einstein notation (legacy: use reduce).";
  let description = [{
    `result[out] = sum over the other letters of operand[...]`

    ```mlir
    %result = stablehlo.unary_einsum %operand, config = "ab->a" : (tensor<4x16xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` `config` `=` $einsum_config
      attr-dict `:` functional-type(operands, results)
  }];
}

//===- Solvers and transforms ---------------------------------------------===//

def Stablehlo_CholeskyOp
    : Stablehlo_Op<"cholesky", [Stablehlo_Pure, Stablehlo_SameBaselineElementType]> {
  let summary = "Factors a batch of positive-definite matrices.";
  let description = [{
    `a = result * adjoint(result)`, with a lower triangular result, or
    `a = adjoint(result) * result` with an upper triangular result

    ```mlir
    %result = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
    ```
  }];
  let arguments = (ins Stablehlo_AnalyticTensor:$a, defaultFalse:$lower);
  let results = (outs Stablehlo_AnalyticTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)?
      attr-dict `:` custom<ShortType>(type($a), type($result))
  }];
  let hasVerifier = 1;
}

def Stablehlo_TriangularSolveOp
    : Stablehlo_Op<"triangular_solve", [Stablehlo_Pure, Stablehlo_SameBaselineElementType]> {
  let summary = "Solves a batch of linear equations with triangular matrices.";
  let description = [{
    `op(a) * result = b`, or `result * op(a) = b` without `left_side`; only the
    `lower` or upper half of `a` is read; with `unit_diagonal` its diagonal is assumed to be 1

    ```mlir
    %result = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true,
      unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>
    }> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Stablehlo_FloatOrComplexTensor:$a, Stablehlo_FloatOrComplexTensor:$b,
                       BoolAttr:$left_side, BoolAttr:$lower, BoolAttr:$unit_diagonal,
                       Stablehlo_TransposeAttr:$transpose_a);
  let results = (outs Stablehlo_FloatOrComplexTensor:$result);
  let hasVerifier = 1;
}

def Stablehlo_FftOp : Stablehlo_Op<"fft", [Stablehlo_Pure]> {
  let summary = "Fourier transform over the last one to three dimensions.";
  let description = [{
    `result[k] = sum over n of operand[n] * e^(-2 pi i k n / length)`; the inverse
    has the other sign and is divided by the length, the real forms keep half of a
    symmetric spectrum

    ```mlir
    %result = stablehlo.fft %operand, type = FFT, length = [16]
        : (tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>>
    ```
  }];
  let arguments = (ins Stablehlo_FloatOrComplexTensor:$operand, Stablehlo_FftTypeAttr:$fft_type,
                       DenseI64ArrayAttr:$fft_length);
  let results = (outs Stablehlo_FloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===- Batch normalization ------------------------------------------------===//

class Stablehlo_BatchNormOp<string mnemonic>
    : Stablehlo_Op<mnemonic, [Stablehlo_Pure, Stablehlo_SameBaselineElementType]>;

def Stablehlo_BatchNormInferenceOp : Stablehlo_BatchNormOp<"batch_norm_inference"> {
  let summary = "Normalizes each feature with given mean and variance.";
  let description = [{
    `result[..., f, ...] = scale[f] * (operand[..., f, ...] - mean[f]) / sqrt(variance[f] + epsilon) + offset[f]`

    ```mlir
    %result = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance)
        <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}>
        : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Stablehlo_FloatOrQuantizedTensor:$operand, Stablehlo_FloatVector:$scale,
                       Stablehlo_FloatVector:$offset, Stablehlo_FloatVector:$mean,
                       Stablehlo_FloatVector:$variance, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs Stablehlo_FloatOrQuantizedTensor:$result);
  let hasVerifier = 1;
}

def Stablehlo_BatchNormTrainingOp : Stablehlo_BatchNormOp<"batch_norm_training"> {
  let summary = "Normalizes each feature with its own mean and variance.";
  let description = [{
    `batch_mean[f] = mean(operand[..., f, ...])`, `batch_var[f]` its variance, and
    `output = batch_norm_inference(operand, scale, offset, batch_mean, batch_var)`

    ```mlir
    %output, %mean, %var = "stablehlo.batch_norm_training"(%operand, %scale, %offset)
        <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}>
        : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins Stablehlo_FloatOrQuantizedTensor:$operand, Stablehlo_FloatVector:$scale,
                       Stablehlo_FloatVector:$offset, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs Stablehlo_FloatOrQuantizedTensor:$output, Stablehlo_FloatVector:$batch_mean,
                      Stablehlo_FloatVector:$batch_var);
  let hasVerifier = 1;
}

def Stablehlo_BatchNormGradOp : Stablehlo_BatchNormOp<"batch_norm_grad"> {
  let summary = "Gradients of batch_norm_training.";
  let description = [{
    `(grad_operand, grad_scale, grad_offset) = grad_output` pulled back through
    `batch_norm_training` at `operand` and `scale`

    ```mlir
    %grad_operand, %grad_scale, %grad_offset =
        "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output)
        <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}>
        : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>)
        -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins Stablehlo_FloatOrQuantizedTensor:$operand, Stablehlo_FloatVector:$scale,
                       Stablehlo_FloatVector:$mean, Stablehlo_FloatVector:$variance,
                       Stablehlo_FloatOrQuantizedTensor:$grad_output,
                       F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs Stablehlo_FloatOrQuantizedTensor:$grad_operand,
                      Stablehlo_FloatVector:$grad_scale, Stablehlo_FloatVector:$grad_offset);
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_LINEARALGEBRAOPS_TD
