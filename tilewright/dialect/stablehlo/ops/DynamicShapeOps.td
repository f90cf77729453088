// Ops whose result shape is an operand, and ops that read and set sizes.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_DYNAMICSHAPEOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_DYNAMICSHAPEOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

// A shape operand can be invalid at run time, so none of these ops may be hoisted.

def Stablehlo_GetDimensionSizeOp : Stablehlo_Op<"get_dimension_size", [Pure]> {
  let summary = "The size of one dimension, as a value.";
  let description = [{
    `result = dim(operand, dimension)`

    ```mlir
    %size = stablehlo.get_dimension_size %operand, dim = 1 : (tensor<2x?xf32>) -> tensor<i32>
    ```
  }];
  let arguments = (ins Stablehlo_AnyTensor:$operand, I64Attr:$dimension);
  let results = (outs Stablehlo_I32Scalar:$result);
  let assemblyFormat = [{
    $operand `,` `dim` `=` $dimension
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_SetDimensionSizeOp : Stablehlo_Op<"set_dimension_size", [NoMemoryEffect]> {
  let summary = "Keeps only the first `size` entries of a dimension.";
  let description = [{
    `result = operand`, with `dim(result, dimension) = size`

    ```mlir
    %result = stablehlo.set_dimension_size %operand, %size, dim = 0
        : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_I32Scalar:$size, I64Attr:$dimension);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $size `,` `dim` `=` $dimension
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_DynamicBroadcastInDimOp
    : Stablehlo_Op<"dynamic_broadcast_in_dim", [NoMemoryEffect]> {
  let summary = "broadcast_in_dim to a shape given as a value.";
  let description = [{
    `result = broadcast_in_dim(operand, broadcast_dimensions)` of shape `output_dimensions`.
    `known_expanding_dimensions` and `known_nonexpanding_dimensions` are guarantees of the
    producer: which operand sizes are 1 and which are not.

    ```mlir
    %result = stablehlo.dynamic_broadcast_in_dim %operand, %shape, dims = [1]
        : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
    ```
  }];
  let arguments = (ins Stablehlo_AnyTensor:$operand, Stablehlo_ShapeVector:$output_dimensions,
                       DenseI64ArrayAttr:$broadcast_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let results = (outs Stablehlo_AnyTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions
      attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicConvOp : Stablehlo_Op<"dynamic_conv", [NoMemoryEffect]> {
  let summary = "convolution with its padding given as a value.";
  let description = [{
    `result = convolution(lhs, rhs)` with rows of `padding` as low and high edges

    ```mlir
    %result = "stablehlo.dynamic_conv"(%image, %kernel, %padding) <{
      dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
      feature_group_count = 1 : i64, batch_group_count = 1 : i64
    }> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$lhs, Stablehlo_AnyTensor:$rhs,
                       Stablehlo_IntMatrix:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       Stablehlo_ConvDimensionNumbersAttr:$dimension_numbers,
                       I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       OptionalAttr<Stablehlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Stablehlo_AnyTensor:$result);
  let hasVerifier = 1;
}

def Stablehlo_DynamicGatherOp : Stablehlo_Op<"dynamic_gather", [NoMemoryEffect]> {
  let summary = "gather with its slice sizes given as a value.";
  let description = [{
    `result = gather(operand, start_indices)` with windows of `slice_sizes`

    ```mlir
    %result = "stablehlo.dynamic_gather"(%operand, %indices, %sizes) <{
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
                                            start_index_map = [0], index_vector_dim = 1>
    }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_IndexTensor:$start_indices,
                       Stablehlo_ShapeVector:$slice_sizes,
                       Stablehlo_GatherDimensionNumbersAttr:$dimension_numbers,
                       defaultFalse:$indices_are_sorted);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
}

def Stablehlo_DynamicIotaOp : Stablehlo_Op<"dynamic_iota", [NoMemoryEffect]> {
  let summary = "iota of a shape given as a value.";
  let description = [{
    `result[i...] = i[iota_dimension]`, of shape `output_shape`

    ```mlir
    %result = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<?x4xi32>
    ```
  }];
  let arguments = (ins Stablehlo_ShapeVector:$output_shape, I64Attr:$iota_dimension);
  let results = (outs Stablehlo_NumberTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension
      attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicPadOp : Stablehlo_Op<"dynamic_pad", [NoMemoryEffect]> {
  let summary = "pad with its amounts given as values.";
  let description = [{
    `result[low + i * (interior + 1)] = operand[i]`, and `padding_value` elsewhere

    ```mlir
    %result = stablehlo.dynamic_pad %operand, %value, %low, %high, %interior
        : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_Scalar:$padding_value,
                       Stablehlo_ShapeVector:$edge_padding_low,
                       Stablehlo_ShapeVector:$edge_padding_high,
                       Stablehlo_ShapeVector:$interior_padding);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_DynamicReshapeOp : Stablehlo_Op<"dynamic_reshape", [NoMemoryEffect]> {
  let summary = "reshape to a shape given as a value.";
  let description = [{
    `result = reshape(operand)` of shape `output_shape`

    ```mlir
    %result = stablehlo.dynamic_reshape %operand, %shape
        : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins Stablehlo_AnyTensor:$operand, Stablehlo_ShapeVector:$output_shape);
  let results = (outs Stablehlo_AnyTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_RealDynamicSliceOp : Stablehlo_Op<"real_dynamic_slice", [NoMemoryEffect]> {
  let summary = "slice with all its bounds given as values (legacy).";
  let description = [{
    `result[i...] = operand[start_indices + i * strides]`, below `limit_indices`

    ```mlir
    %result = stablehlo.real_dynamic_slice %operand, %start, %limit, %strides
        : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_DynamicShapeVector:$start_indices,
                       Stablehlo_DynamicShapeVector:$limit_indices,
                       Stablehlo_DynamicShapeVector:$strides);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_DYNAMICSHAPEOPS_TD
