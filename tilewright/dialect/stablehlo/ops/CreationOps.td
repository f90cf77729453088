// Ops that create a tensor without reading another tensor's elements.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_CREATIONOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_CREATIONOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

def Stablehlo_ConstantOp : Stablehlo_Op<"constant", [
    ConstantLike, Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A tensor known at compile time.";
  let description = [{
    `output = value`

    `value` may be any elements attribute. Large constants of an imported module
    are `DenseResourceElementsAttr`s that point into the file. A quantized
    constant holds its storage integers.

    ```mlir
    %output = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Stablehlo_StaticTensor:$output);
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Stablehlo_IotaOp : Stablehlo_Op<"iota", [Pure]> {
  let summary = "Counts along one dimension.";
  let description = [{
    `output[i...] = i[iota_dimension]`

    ```mlir
    %output = stablehlo.iota dim = 1 : tensor<2x4xi32>
    ```
  }];
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs Type<And<[Stablehlo_NumberTensor.predicate, HasStaticShapePred]>,
      "statically shaped tensor of integer, float, complex or per-tensor quantized values",
      "::mlir::RankedTensorType">:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def Stablehlo_RngOp : Stablehlo_Op<"rng", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Random numbers from a hidden state, so the op has a side effect.";
  let description = [{
    `result[i] ~ uniform in [a, b)` or `~ normal of mean a and deviation b`

    ```mlir
    %result = stablehlo.rng %a, %b, %shape, distribution = UNIFORM
        : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x3xf32>
    ```
  }];
  let arguments = (ins Stablehlo_PredIntOrFloatScalar:$a, Stablehlo_PredIntOrFloatScalar:$b,
                       Stablehlo_ShapeVector:$shape,
                       Stablehlo_RngDistributionAttr:$rng_distribution);
  let results = (outs Stablehlo_PredIntOrFloatTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_RngBitGeneratorOp : Stablehlo_Op<"rng_bit_generator", [Stablehlo_Pure]> {
  let summary = "Random bits from a given state.";
  let description = [{
    `(output_state, output) = generate(rng_algorithm, initial_state)`

    ```mlir
    %output_state, %output = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY
        : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
    ```
  }];
  let arguments = (ins Stablehlo_RngAlgorithmAttr:$rng_algorithm,
                       Stablehlo_IntOrFloatTensor:$initial_state);
  let results = (outs Stablehlo_IntOrFloatTensor:$output_state,
      Type<And<[Stablehlo_IntOrFloatTensor.predicate, HasStaticShapePred]>,
           "statically shaped tensor of integer or float values",
           "::mlir::RankedTensorType">:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_CREATIONOPS_TD
