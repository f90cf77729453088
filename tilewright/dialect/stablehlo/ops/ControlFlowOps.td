// Branches, loops, tuples, and the tokens that order side effects.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_CONTROLFLOWOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_CONTROLFLOWOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

def Stablehlo_ReturnOp : Stablehlo_Op<"return", [Pure, Terminator]> {
  let summary = "Terminates a region and returns its values.";
  let description = [{
    `results of the region = values`

    ```mlir
    stablehlo.return %sum : tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_CustomCallValue>:$values);
  let assemblyFormat = "$values attr-dict (`:` type($values)^)?";
}

def Stablehlo_IfOp : Stablehlo_Op<"if", [Stablehlo_RegionEffects, Stablehlo_ReturnTerminated]> {
  let summary = "Runs one of two regions.";
  let description = [{
    `results = pred ? true_branch() : false_branch()`

    ```mlir
    %result = "stablehlo.if"(%pred) ({
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %b : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_PredTensor:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<Stablehlo_TensorOrToken>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_CaseOp : Stablehlo_Op<"case", [Stablehlo_RegionEffects, Stablehlo_ReturnTerminated]> {
  let summary = "Runs one of several regions; the last one if the index is out of range.";
  let description = [{
    `results = branches[0 <= index < N ? index : N - 1]()`

    ```mlir
    %result = "stablehlo.case"(%index) ({
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %b : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_I32Tensor:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<Stablehlo_TensorOrToken>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_WhileOp : Stablehlo_Op<"while", [
    Stablehlo_RegionEffects, Stablehlo_ReturnTerminated,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Repeats a region while a condition holds.";
  let description = [{
    `results = operand; while (cond(results)) results = body(results)`

    ```mlir
    %result = stablehlo.while(%i = %start) : tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_TensorTokenOrBuffer>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<Stablehlo_TensorTokenOrBuffer>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_OptimizationBarrierOp : Stablehlo_Op<"optimization_barrier", [Pure]> {
  let summary = "Orders the uses of its results after the computation of its operands.";
  let description = [{
    `result = operand`, and no op is moved across the barrier

    ```mlir
    %result:2 = stablehlo.optimization_barrier %a, %b : tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_TensorOrToken>:$operand);
  let results = (outs Variadic<Stablehlo_TensorOrToken>:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseTypes>(type($operand), type($result))) : (`(` `)`)?
  }];
}

def Stablehlo_TupleOp : Stablehlo_Op<"tuple", [Pure]> {
  let summary = "Packs values into a tuple.";
  let description = [{
    `result = (val[0], val[1], ...)`

    ```mlir
    %result = stablehlo.tuple %a, %b : tuple<tensor<4xf32>, tensor<i32>>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Value>:$val);
  let results = (outs Stablehlo_Tuple:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$val attr-dict `:` custom<TupleType>(type($val), type($result))";
}

def Stablehlo_GetTupleElementOp : Stablehlo_Op<"get_tuple_element", [Pure]> {
  let summary = "Returns one element of a tuple.";
  let description = [{
    `result = operand[index]`

    ```mlir
    %result = stablehlo.get_tuple_element %tuple[0] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tuple:$operand, I32Attr:$index);
  let results = (outs Stablehlo_Value:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_CreateTokenOp : Stablehlo_Op<"create_token", [Pure]> {
  let summary = "Creates the first token of a chain (legacy: use after_all without inputs).";
  let description = [{
    `output = after_all()`

    ```mlir
    %output = stablehlo.create_token : !stablehlo.token
    ```
  }];
  let results = (outs Stablehlo_Token:$output);
  let assemblyFormat = "attr-dict `:` type($output)";
}

def Stablehlo_AfterAllOp : Stablehlo_Op<"after_all", [Pure]> {
  let summary = "A token that depends on other tokens.";
  let description = [{
    `result` is available once all `inputs` are

    ```mlir
    %result = stablehlo.after_all %a, %b : !stablehlo.token
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Token>:$inputs);
  let results = (outs Stablehlo_Token:$result);
  let assemblyFormat = [{
    $inputs
      attr-dict `:` custom<UniformType>(ref($inputs), type($inputs), type($result))
  }];
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_CONTROLFLOWOPS_TD
