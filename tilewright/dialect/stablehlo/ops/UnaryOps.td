// Ops from one tensor to a tensor of the same shape, element by element.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_UNARYOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_UNARYOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

/// `result[i] = formula`, with `x = operand[i]`.
class Stablehlo_UnaryOp<string mnemonic, string does, string formula, Type operandType,
                        list<Trait> traits = [Stablehlo_SameBaselineElementType],
                        Type resultType = operandType, string example = "tensor<4xf32>">
    : Stablehlo_Op<mnemonic, [Stablehlo_Pure, Stablehlo_SameShape] # traits # [Elementwise]> {
  let summary = does;
  let description = "`result[i] = " # formula # "`, where `x = operand[i]`\n\n"
      # "```mlir\n%result = stablehlo." # mnemonic # " %operand : " # example # "\n```";
  let arguments = (ins operandType:$operand);
  let results = (outs resultType:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<ShortType>(type($operand), type($result))";
}

/// A transcendental function with a required accuracy.
class Stablehlo_TranscendentalOp<string mnemonic, string does, string formula>
    : Stablehlo_UnaryOp<mnemonic, does, formula, Stablehlo_AnalyticTensor> {
  let arguments = (ins Stablehlo_AnalyticTensor:$operand,
                       OptionalAttr<Stablehlo_ResultAccuracyAttr>:$result_accuracy);
}

/// An op whose result has another element type, so both types are shown.
class Stablehlo_RetypingOp<string mnemonic, string does, string formula, Type operandType,
                           Type resultType, string example>
    : Stablehlo_UnaryOp<mnemonic, does, formula, operandType, [], resultType> {
  let description = "`result[i] = " # formula # "`, where `x = operand[i]`\n\n"
      # "```mlir\n" # example # "\n```";
}

//===- Arithmetic ---------------------------------------------------------===//

def Stablehlo_AbsOp : Stablehlo_UnaryOp<"abs", "Absolute value, or modulus of a complex number.",
    "|x|", Stablehlo_SignedTensor, [], Stablehlo_SignedRealTensor> {
  let hasVerifier = 1;
}
def Stablehlo_NegateOp : Stablehlo_UnaryOp<"negate", "Changes the sign; unsigned integers wrap.",
    "-x", Stablehlo_NumberTensor>;
def Stablehlo_SignOp : Stablehlo_UnaryOp<"sign",
    "Sign: -1, 0 or 1, zeros and NaN kept; for complex, the unit vector.",
    "x = 0 ? x : x / |x|", Stablehlo_SignedTensor>;
def Stablehlo_CeilOp : Stablehlo_UnaryOp<"ceil", "Rounds up to an integer.",
    "min {n integer, n >= x}", Stablehlo_FloatOrQuantizedTensor>;
def Stablehlo_FloorOp : Stablehlo_UnaryOp<"floor", "Rounds down to an integer.",
    "max {n integer, n <= x}", Stablehlo_FloatOrQuantizedTensor>;
def Stablehlo_RoundNearestAfzOp : Stablehlo_UnaryOp<"round_nearest_afz",
    "Rounds to the nearest integer, halves away from zero.",
    "sign(x) * floor(|x| + 1/2)", Stablehlo_FloatOrQuantizedTensor>;
def Stablehlo_RoundNearestEvenOp : Stablehlo_UnaryOp<"round_nearest_even",
    "Rounds to the nearest integer, halves to the even one.",
    "the integer nearest x, even of two", Stablehlo_FloatOrQuantizedTensor>;

//===- Transcendental functions -------------------------------------------===//

def Stablehlo_CbrtOp : Stablehlo_TranscendentalOp<"cbrt", "Cube root.", "x^(1/3)">;
def Stablehlo_CosineOp : Stablehlo_TranscendentalOp<"cosine", "Cosine.", "cos(x)">;
def Stablehlo_ExponentialOp : Stablehlo_TranscendentalOp<
    "exponential", "Exponential function.", "e^x">;
def Stablehlo_ExponentialMinusOneOp : Stablehlo_TranscendentalOp<
    "exponential_minus_one", "Exponential minus one, accurate near zero.", "e^x - 1">;
def Stablehlo_LogOp : Stablehlo_TranscendentalOp<"log", "Natural logarithm.", "ln(x)">;
def Stablehlo_LogPlusOneOp : Stablehlo_TranscendentalOp<
    "log_plus_one", "Logarithm of one plus x, accurate near zero.", "ln(1 + x)">;
def Stablehlo_LogisticOp : Stablehlo_TranscendentalOp<
    "logistic", "Logistic function.", "1 / (1 + e^(-x))">;
def Stablehlo_RsqrtOp : Stablehlo_TranscendentalOp<
    "rsqrt", "Reciprocal of the square root.", "1 / sqrt(x)">;
def Stablehlo_SineOp : Stablehlo_TranscendentalOp<"sine", "Sine.", "sin(x)">;
def Stablehlo_SqrtOp : Stablehlo_TranscendentalOp<"sqrt", "Square root.", "sqrt(x)">;
def Stablehlo_TanOp : Stablehlo_TranscendentalOp<"tan", "Tangent.", "sin(x) / cos(x)">;
def Stablehlo_TanhOp : Stablehlo_TranscendentalOp<
    "tanh", "Hyperbolic tangent.", "(e^x - e^(-x)) / (e^x + e^(-x))">;

//===- Bits ---------------------------------------------------------------===//

def Stablehlo_CountLeadingZerosOp : Stablehlo_UnaryOp<"count_leading_zeros",
    "Counts the zero bits above the highest one.", "bits - 1 - floor(log2(x)), bits for 0",
    Stablehlo_IntTensor, [Stablehlo_SameBaselineElementType], Stablehlo_IntTensor,
    "tensor<4xi32>">;
def Stablehlo_NotOp : Stablehlo_UnaryOp<"not", "Inverts a boolean, or every bit of an integer.",
    "~x", Stablehlo_PredOrIntTensor, [Stablehlo_SameBaselineElementType],
    Stablehlo_PredOrIntTensor, "tensor<4xi1>">;
def Stablehlo_PopcntOp : Stablehlo_UnaryOp<"popcnt", "Counts the one bits.",
    "sum over b of bit b of x", Stablehlo_IntTensor, [Stablehlo_SameBaselineElementType],
    Stablehlo_IntTensor, "tensor<4xi32>">;

//===- Changes of element type --------------------------------------------===//

def Stablehlo_ConvertOp : Stablehlo_RetypingOp<"convert",
    "Converts between element types: exactly where possible, else rounded to nearest even.",
    "x as the result's element type", Stablehlo_PlainTensor, Stablehlo_PlainTensor,
    "%result = stablehlo.convert %operand : (tensor<4xi32>) -> tensor<4xf32>">;
def Stablehlo_RealOp : Stablehlo_RetypingOp<"real", "Real part.", "Re(x)",
    Stablehlo_FloatOrComplexTensor, Stablehlo_FloatTensor,
    "%result = stablehlo.real %operand : (tensor<4xcomplex<f32>>) -> tensor<4xf32>"> {
  let hasVerifier = 1;
}
def Stablehlo_ImagOp : Stablehlo_RetypingOp<"imag", "Imaginary part; zero for a real x.", "Im(x)",
    Stablehlo_FloatOrComplexTensor, Stablehlo_FloatTensor,
    "%result = stablehlo.imag %operand : (tensor<4xcomplex<f32>>) -> tensor<4xf32>"> {
  let hasVerifier = 1;
}
def Stablehlo_UniformQuantizeOp : Stablehlo_RetypingOp<"uniform_quantize",
    "Quantizes floats, or changes the quantization of integers.",
    "clamp(min, round(x / scale) + zero_point, max)",
    Stablehlo_FloatOrAnyQuantizedTensor, Stablehlo_AnyQuantizedTensor,
    "%result = stablehlo.uniform_quantize %operand"
    # " : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.1:-30>>"> {
  let hasVerifier = 1;
}
def Stablehlo_UniformDequantizeOp : Stablehlo_RetypingOp<"uniform_dequantize",
    "Gives the float that a quantized integer stands for.", "(x - zero_point) * scale",
    Stablehlo_AnyQuantizedTensor, Stablehlo_FloatTensor,
    "%result = stablehlo.uniform_dequantize %operand"
    # " : (tensor<4x!quant.uniform<i8:f32, 0.1:-30>>) -> tensor<4xf32>"> {
  let hasVerifier = 1;
}

def Stablehlo_IsFiniteOp
    : Stablehlo_Op<"is_finite", [Stablehlo_Pure, Stablehlo_SameShape, Elementwise]> {
  let summary = "Whether each element is finite.";
  let description = [{
    `y[i] = |x[i]| < infinity`

    ```mlir
    %y = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins Stablehlo_FloatOrQuantizedTensor:$x);
  let results = (outs Stablehlo_PredTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_ReducePrecisionOp : Stablehlo_Op<"reduce_precision", [
    Stablehlo_Pure, Stablehlo_SameShape, Stablehlo_SameBaselineElementType, Elementwise]> {
  let summary = "Rounds to a narrower float format and back.";
  let description = [{
    `output[i] = operand[i]` through a float of `exponent_bits` and
    `mantissa_bits`, as two `convert` ops would do.

    ```mlir
    %output = stablehlo.reduce_precision %operand, format = e5m10 : tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_FloatOrQuantizedTensor:$operand,
                       I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let results = (outs Stablehlo_FloatOrQuantizedTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits)
      attr-dict `:` custom<ShortType>(type($operand), type($output))
  }];
  let hasVerifier = 1;
}

def Stablehlo_BitcastConvertOp : Stablehlo_Op<"bitcast_convert", [Stablehlo_Pure]> {
  let summary = "Reinterprets the bits as another element type.";
  let description = [{
    `bits(result) = bits(operand)`. Between types of different width, a last
    dimension is added or removed that contains the pieces, lowest bits first.

    ```mlir
    %result = stablehlo.bitcast_convert %operand : (tensor<4xf32>) -> tensor<4x2xui16>
    ```
  }];
  let arguments = (ins Stablehlo_AnyTensor:$operand);
  let results = (outs Stablehlo_AnyTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_UNARYOPS_TD
