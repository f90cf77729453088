// Ops that apply a scalar computation, held in a region, to whole tensors.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_REDUCTIONOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_REDUCTIONOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

class Stablehlo_ComputationOp<string mnemonic, list<Trait> traits = []> : Stablehlo_Op<mnemonic,
    [RecursiveMemoryEffects, Stablehlo_SpeculatableIfStatic, Stablehlo_ReturnTerminated] # traits>;

def Stablehlo_MapOp : Stablehlo_ComputationOp<"map"> {
  let summary = "Applies a computation element by element.";
  let description = [{
    `result[i] = computation(inputs[0][i], inputs[1][i], ...)`

    ```mlir
    %result = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %sum = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_ReduceOp : Stablehlo_ComputationOp<"reduce", [SameVariadicOperandSize]> {
  let summary = "Reduces dimensions with a computation.";
  let description = [{
    `results[i...] = fold(body, init_values, inputs[i..., j...])` over all `j` in
    `dimensions`, in any order

    ```mlir
    %result = stablehlo.reduce(%input init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs, Variadic<Stablehlo_Tensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ReduceWindowOp : Stablehlo_ComputationOp<"reduce_window", [SameVariadicOperandSize]> {
  let summary = "Reduces each position of a sliding window to one element.";
  let description = [{
    `results[i] = fold(body, init_values, window of inputs at i * window_strides)`,
    where the input is padded with `init_values` and dilated by `base_dilations`

    ```mlir
    %result = "stablehlo.reduce_window"(%input, %zero) <{
      window_dimensions = array<i64: 2>, window_strides = array<i64: 2>
    }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %sum = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs, Variadic<Stablehlo_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_SelectAndScatterOp : Stablehlo_ComputationOp<"select_and_scatter"> {
  let summary = "Scatters each source element to the selected element of its window: the gradient of pooling.";
  let description = [{
    `result[j] = fold(scatter, init_value, source[i])` over the windows `i` in
    which `select` prefers `operand[j]`

    ```mlir
    %result = "stablehlo.select_and_scatter"(%operand, %source, %zero) <{
      window_dimensions = array<i64: 2>, window_strides = array<i64: 2>
    }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %wins = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %wins : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %sum = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, Stablehlo_Tensor:$source,
                       Stablehlo_Tensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_SortOp : Stablehlo_ComputationOp<"sort"> {
  let summary = "Sorts one or more tensors along one dimension with a comparator.";
  let description = [{
    `results[k] = inputs[k]` with the entries along `dimension` in the order of
    `comparator`; with `is_stable`, equal entries keep their order

    ```mlir
    %result = "stablehlo.sort"(%input) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs,
                       DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       defaultFalse:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_REDUCTIONOPS_TD
