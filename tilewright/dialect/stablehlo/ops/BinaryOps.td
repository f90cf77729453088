// Elementwise ops with two or three operands.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_BINARYOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_BINARYOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

/// `result[i] = formula`, with `x = lhs[i]` and `y = rhs[i]`.
class Stablehlo_BinaryOp<string mnemonic, string does, string formula, Type type,
                         list<Trait> traits = [Stablehlo_SameBaselineElementType],
                         string example = "tensor<4xi32>">
    : Stablehlo_Op<mnemonic, [Stablehlo_Pure, Stablehlo_SameShape] # traits # [Elementwise]> {
  let summary = does;
  let description = "`result[i] = " # formula # "`, where `x = lhs[i]` and `y = rhs[i]`\n\n"
      # "```mlir\n%result = stablehlo." # mnemonic # " %lhs, %rhs : " # example # "\n```";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<ShortType>(type($lhs), type($rhs), type($result))
  }];
}

//===- Arithmetic ---------------------------------------------------------===//

def Stablehlo_AddOp : Stablehlo_BinaryOp<"add", "Sum; of booleans, the logical or.", "x + y",
    Stablehlo_AnyTensor, []> {
  let hasVerifier = 1;
}
def Stablehlo_SubtractOp : Stablehlo_BinaryOp<"subtract", "Difference.", "x - y",
    Stablehlo_NumberTensor>;
def Stablehlo_MultiplyOp : Stablehlo_BinaryOp<"multiply", "Product; of booleans, the logical and.",
    "x * y", Stablehlo_Tensor>;
def Stablehlo_DivideOp : Stablehlo_BinaryOp<"divide",
    "Quotient; of integers, truncated towards zero.", "x / y", Stablehlo_NumberTensor>;
def Stablehlo_RemainderOp : Stablehlo_BinaryOp<"remainder",
    "Remainder of the truncated division, with the sign of the dividend.", "x - y * trunc(x / y)",
    Stablehlo_NumberTensor>;
def Stablehlo_PowerOp : Stablehlo_BinaryOp<"power", "Power.", "x^y", Stablehlo_NumberTensor>;
def Stablehlo_MaximumOp : Stablehlo_BinaryOp<"maximum",
    "Greater of two; NaN if either is, complex numbers by real then imaginary part.",
    "max(x, y)", Stablehlo_Tensor>;
def Stablehlo_MinimumOp : Stablehlo_BinaryOp<"minimum",
    "Lesser of two; NaN if either is, complex numbers by real then imaginary part.",
    "min(x, y)", Stablehlo_Tensor>;
def Stablehlo_Atan2Op : Stablehlo_BinaryOp<"atan2", "Angle of the point (y, x).",
    "the angle of x*i + y, in [-pi, pi]", Stablehlo_AnalyticTensor,
    [Stablehlo_SameBaselineElementType], "tensor<4xf32>">;

//===- Bits ---------------------------------------------------------------===//

def Stablehlo_AndOp : Stablehlo_BinaryOp<"and", "Bitwise and.", "x & y",
    Stablehlo_PredOrIntTensor>;
def Stablehlo_OrOp : Stablehlo_BinaryOp<"or", "Bitwise or.", "x | y",
    Stablehlo_PredOrIntTensor>;
def Stablehlo_XorOp : Stablehlo_BinaryOp<"xor", "Bitwise exclusive or.", "x ^ y",
    Stablehlo_PredOrIntTensor>;
def Stablehlo_ShiftLeftOp : Stablehlo_BinaryOp<"shift_left",
    "Shifts bits up; 0 if the distance is not below the width.", "x << y", Stablehlo_IntTensor>;
def Stablehlo_ShiftRightArithmeticOp : Stablehlo_BinaryOp<"shift_right_arithmetic",
    "Shifts bits down, filling with the sign.", "x >> y", Stablehlo_IntTensor>;
def Stablehlo_ShiftRightLogicalOp : Stablehlo_BinaryOp<"shift_right_logical",
    "Shifts bits down, filling with zeros.", "x >>> y", Stablehlo_IntTensor>;

//===- Comparison and choice ----------------------------------------------===//

def Stablehlo_CompareOp
    : Stablehlo_Op<"compare", [Stablehlo_Pure, Stablehlo_SameShape, Elementwise]> {
  let summary = "Compares two tensors.";
  let description = [{
    `result[i] = lhs[i] <comparison_direction> rhs[i]`

    `compare_type` is the order: floats as numbers (`FLOAT`, NaN unordered) or in the
    total order of their bits (`TOTALORDER`), integers `SIGNED` or `UNSIGNED`.

    ```mlir
    %result = stablehlo.compare LT, %lhs, %rhs : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$lhs, Stablehlo_Tensor:$rhs,
                       Stablehlo_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<Stablehlo_ComparisonTypeAttr>:$compare_type);
  let results = (outs Stablehlo_PredTensor:$result);
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)?
      attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Stablehlo_ComplexOp
    : Stablehlo_Op<"complex", [Stablehlo_Pure, Stablehlo_SameShape, Elementwise]> {
  let summary = "Makes complex numbers from real and imaginary parts.";
  let description = [{
    `result[i] = lhs[i] + rhs[i] * sqrt(-1)`

    ```mlir
    %result = stablehlo.complex %lhs, %rhs : tensor<4xcomplex<f32>>
    ```
  }];
  let arguments = (ins Stablehlo_WideFloatTensor:$lhs, Stablehlo_WideFloatTensor:$rhs);
  let results = (outs Stablehlo_ComplexTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs
      attr-dict `:` custom<ComplexType>(type($lhs), type($rhs), type($result))
  }];
  let hasVerifier = 1;
}

def Stablehlo_SelectOp : Stablehlo_Op<"select", [Stablehlo_Pure]> {
  let summary = "Chooses between two tensors, element by element or as a whole.";
  let description = [{
    `result[i] = pred[i] ? on_true[i] : on_false[i]`; a scalar `pred` applies to all `i`.

    ```mlir
    %result = stablehlo.select %pred, %on_true, %on_false : tensor<4xi1>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_PredTensor:$pred, Stablehlo_Tensor:$on_true,
                       Stablehlo_Tensor:$on_false);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = [{
    operands
      attr-dict `:` custom<SelectType>(type($pred), type($on_true), type($on_false), type($result))
  }];
  let hasVerifier = 1;
}

def Stablehlo_ClampOp
    : Stablehlo_Op<"clamp", [Stablehlo_Pure, Stablehlo_SameBaselineElementType]> {
  let summary = "Limits values to an interval.";
  let description = [{
    `result[i] = minimum(maximum(operand[i], min[i]), max[i])`; a scalar bound applies to all `i`.

    ```mlir
    %result = stablehlo.clamp %min, %operand, %max : tensor<4xi32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$min, Stablehlo_Tensor:$operand, Stablehlo_Tensor:$max);
  let results = (outs Stablehlo_Tensor:$result);
  let assemblyFormat = [{
    operands
      attr-dict `:` custom<ShortType>(type($min), type($operand), type($max), type($result))
  }];
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_BINARYOPS_TD
