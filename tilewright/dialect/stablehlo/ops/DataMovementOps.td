// Ops that move the elements of a tensor to positions known at compile time.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_DATAMOVEMENTOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_DATAMOVEMENTOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

def Stablehlo_BroadcastOp : Stablehlo_Op<"broadcast", [Stablehlo_Pure]> {
  let summary = "Repeats a tensor along new leading dimensions (legacy: use broadcast_in_dim).";
  let description = [{
    `result[j..., i...] = operand[i...]`, where the `j` count up to `broadcast_sizes`

    ```mlir
    %result = stablehlo.broadcast %operand, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` `sizes` `=` $broadcast_sizes
      attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_BroadcastInDimOp : Stablehlo_Op<"broadcast_in_dim", [Stablehlo_Pure]> {
  let summary = "Repeats a tensor along dimensions that it lacks or where its size is 1.";
  let description = [{
    `result[i...] = operand[j...]`, where `j[d] = 0` if dimension `d` of the
    operand has size 1, otherwise `i[broadcast_dimensions[d]]`

    ```mlir
    %result = stablehlo.broadcast_in_dim %operand, dims = [1]
        : (tensor<3xf32>) -> tensor<2x3xf32>
    ```
  }];
  let arguments = (ins Stablehlo_AnyTensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs Stablehlo_StaticOrBoundedTensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_ConcatenateOp : Stablehlo_Op<"concatenate", [Stablehlo_Pure]> {
  let summary = "Concatenates tensors along one dimension.";
  let description = [{
    `result[i...] = inputs[k][i..., minus the sizes before k, ...]` for the `k`
    that covers `i[dimension]`

    ```mlir
    %result = stablehlo.concatenate %a, %b, dim = 0
        : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = [{
    custom<OperandsThenComma>($inputs) `dim` `=` $dimension
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_PadOp : Stablehlo_Op<"pad", [Stablehlo_Pure]> {
  let summary = "Pads a tensor with a value at its edges and between its elements.";
  let description = [{
    `result[low + i * (interior + 1)] = operand[i]`, and `padding_value` elsewhere.
    Negative edge padding removes elements.

    ```mlir
    %result = stablehlo.pad %operand, %value, low = [1], high = [2], interior = [0]
        : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_Scalar:$padding_value,
                       DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
                       DenseI64ArrayAttr:$interior_padding);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,`
      `high` `=` $edge_padding_high `,` `interior` `=` $interior_padding
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_ReshapeOp : Stablehlo_Op<"reshape", [Stablehlo_Pure]> {
  let summary = "Changes the shape without changing the row-major order of the elements.";
  let description = [{
    `result[i...] = operand[j...]`, where `i` and `j` have the same row-major position

    ```mlir
    %result = stablehlo.reshape %operand : (tensor<6xf32>) -> tensor<2x3xf32>
    ```
  }];
  let arguments = (ins Stablehlo_AnyTensor:$operand);
  let results = (outs Stablehlo_StaticOrBoundedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_ReverseOp : Stablehlo_Op<"reverse", [
    Stablehlo_Pure, Stablehlo_SameShape, Stablehlo_SameBaselineElementType]> {
  let summary = "Reverses the order of elements along some dimensions.";
  let description = [{
    `result[i...] = operand[j...]`, where `j[d] = size[d] - 1 - i[d]` for `d` in
    `dimensions`, otherwise `i[d]`

    ```mlir
    %result = stablehlo.reverse %operand, dims = [1] : tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions
      attr-dict `:` custom<ShortType>(type($operand), type($result))
  }];
  let hasVerifier = 1;
}

def Stablehlo_SliceOp : Stablehlo_Op<"slice", [Stablehlo_Pure]> {
  let summary = "Extracts a box of elements, with strides.";
  let description = [{
    `result[i...] = operand[start_indices + i * strides]`, below `limit_indices`

    ```mlir
    %result = stablehlo.slice %operand [1:3, 4:8:2] : (tensor<3x8xf32>) -> tensor<2x2xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
                       DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides)
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_TransposeOp : Stablehlo_Op<"transpose", [Stablehlo_Pure]> {
  let summary = "Permutes dimensions.";
  let description = [{
    `result[i...] = operand[j...]`, where `i[d] = j[permutation[d]]`

    ```mlir
    %result = stablehlo.transpose %operand, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Stablehlo_AnyTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Stablehlo_AnyTensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $permutation
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_DATAMOVEMENTOPS_TD
