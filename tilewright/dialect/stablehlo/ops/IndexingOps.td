// Ops that read or write at positions computed at run time.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_INDEXINGOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_INDEXINGOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

def Stablehlo_DynamicSliceOp : Stablehlo_Op<"dynamic_slice", [Stablehlo_Pure]> {
  let summary = "Extracts a box of fixed size at a computed position.";
  let description = [{
    `result[i...] = operand[start + i]`, where `start` is `start_indices`
    clamped such that the box is inside the operand

    ```mlir
    %result = stablehlo.dynamic_slice %operand, %row, %column, sizes = [2, 2]
        : (tensor<4x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x2xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Variadic<Stablehlo_IntScalar>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<OperandsThenComma>($start_indices) `sizes` `=` $slice_sizes
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_DynamicUpdateSliceOp : Stablehlo_Op<"dynamic_update_slice", [Stablehlo_Pure]> {
  let summary = "Overwrites a box at a computed position.";
  let description = [{
    `result[start + i] = update[i]`, and `operand` elsewhere, where `start` is
    `start_indices` clamped such that the box is inside

    ```mlir
    %result = stablehlo.dynamic_update_slice %operand, %update, %row, %column
        : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<i64>, tensor<i64>) -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_Tensor:$update,
                       Variadic<Stablehlo_IntScalar>:$start_indices);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Stablehlo_GatherOp : Stablehlo_Op<"gather", [Stablehlo_Pure]> {
  let summary = "Gathers boxes of fixed size from many computed positions.";
  let description = [{
    `result[batch, window] = operand[start(batch) + window]`, where `start(batch)`
    is a vector of `start_indices`, clamped and mapped by `start_index_map`

    ```mlir
    %result = "stablehlo.gather"(%operand, %indices) <{
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
                                            start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 4>, indices_are_sorted = false
    }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_IndexTensor:$start_indices,
                       Stablehlo_GatherDimensionNumbersAttr:$dimension_numbers,
                       DenseI64ArrayAttr:$slice_sizes, defaultFalse:$indices_are_sorted);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
}

def Stablehlo_ScatterOp : Stablehlo_Op<"scatter", [
    RecursiveMemoryEffects, Stablehlo_SpeculatableIfStatic, SameVariadicOperandSize,
    Stablehlo_ReturnTerminated]> {
  let summary = "Combines updates into tensors at many computed positions.";
  let description = [{
    `results[start(batch) + window] = update_computation(inputs[...], updates[batch, window])`
    for all updates, in any order; updates that fall outside are skipped

    ```mlir
    %result = "stablehlo.scatter"(%input, %indices, %update) <{
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
    }> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      %sum = stablehlo.add %old, %new : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs, Stablehlo_IndexTensor:$scatter_indices,
                       Variadic<Stablehlo_Tensor>:$updates,
                       Stablehlo_ScatterDimensionNumbersAttr:$scatter_dimension_numbers,
                       defaultFalse:$indices_are_sorted, defaultFalse:$unique_indices);
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_TorchIndexSelectOp : Stablehlo_Op<"torch_index_select", [Stablehlo_Pure]> {
  let summary = "Gathers slices along one dimension by index (legacy: use gather).";
  let description = [{
    `result[..., i, ...] = operand[..., index[i], ...]` along `dim`, for each of
    the first `batch_dims` dimensions

    ```mlir
    %result = "stablehlo.torch_index_select"(%operand, %index) <{batch_dims = 0 : i64, dim = 0 : i64}>
        : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_Tensor:$index,
                       I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_INDEXINGOPS_TD
