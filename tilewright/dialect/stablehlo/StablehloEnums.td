// Enumerations. The values are those of portable artifacts, so import and export
// only cast.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOENUMS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOENUMS_TD

include "mlir/IR/EnumAttr.td"
include "tilewright/dialect/stablehlo/StablehloDialect.td"

class Stablehlo_Enum<string name, string summary, list<EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::tilewright::stablehlo";
}

def Stablehlo_ComparisonDirection : Stablehlo_Enum<
    "ComparisonDirection", "which of the six comparisons", [
      I32EnumCase<"EQ", 0>, I32EnumCase<"NE", 1>, I32EnumCase<"GE", 2>,
      I32EnumCase<"GT", 3>, I32EnumCase<"LE", 4>, I32EnumCase<"LT", 5>]>;
def Stablehlo_ComparisonDirectionAttr : EnumAttr<
    Stablehlo_Dialect, Stablehlo_ComparisonDirection, "comparison_direction">;

def Stablehlo_ComparisonType : Stablehlo_Enum<
    "ComparisonType", "how the bits are ordered; NOTYPE leaves it to the element type", [
      I32EnumCase<"NOTYPE", 0>, I32EnumCase<"FLOAT", 1>, I32EnumCase<"TOTALORDER", 2>,
      I32EnumCase<"SIGNED", 3>, I32EnumCase<"UNSIGNED", 4>]>;
def Stablehlo_ComparisonTypeAttr : EnumAttr<
    Stablehlo_Dialect, Stablehlo_ComparisonType, "comparison_type">;

def Stablehlo_FftType : Stablehlo_Enum<
    "FftType", "direction and domain of a Fourier transform", [
      I32EnumCase<"FFT", 0>, I32EnumCase<"IFFT", 1>,
      I32EnumCase<"RFFT", 2>, I32EnumCase<"IRFFT", 3>]>;
def Stablehlo_FftTypeAttr : EnumAttr<Stablehlo_Dialect, Stablehlo_FftType, "fft_type">;

def Stablehlo_Precision : Stablehlo_Enum<
    "Precision", "speed against accuracy of one operand; its meaning is the target's", [
      I32EnumCase<"DEFAULT", 0>, I32EnumCase<"HIGH", 1>, I32EnumCase<"HIGHEST", 2>]>;
def Stablehlo_PrecisionAttr : EnumAttr<Stablehlo_Dialect, Stablehlo_Precision, "precision">;
def Stablehlo_PrecisionConfigAttr
    : TypedArrayAttrBase<Stablehlo_PrecisionAttr, "array of precisions, one per operand">;

def Stablehlo_ResultAccuracyMode : Stablehlo_Enum<
    "ResultAccuracyMode", "who chooses the accuracy of a transcendental op", [
      I32EnumCase<"DEFAULT", 0>, I32EnumCase<"HIGHEST", 1>, I32EnumCase<"TOLERANCE", 2>]>;
def Stablehlo_ResultAccuracyModeAttr : EnumAttr<
    Stablehlo_Dialect, Stablehlo_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def Stablehlo_RngAlgorithm : Stablehlo_Enum<
    "RngAlgorithm", "generator of pseudo-random bits", [
      I32EnumCase<"DEFAULT", 0>, I32EnumCase<"THREE_FRY", 1>, I32EnumCase<"PHILOX", 2>]>;
def Stablehlo_RngAlgorithmAttr : EnumAttr<
    Stablehlo_Dialect, Stablehlo_RngAlgorithm, "rng_algorithm">;

def Stablehlo_RngDistribution : Stablehlo_Enum<
    "RngDistribution", "distribution of random values", [
      I32EnumCase<"UNIFORM", 1>, I32EnumCase<"NORMAL", 2>]>;
def Stablehlo_RngDistributionAttr : EnumAttr<
    Stablehlo_Dialect, Stablehlo_RngDistribution, "rng_distribution">;

def Stablehlo_Transpose : Stablehlo_Enum<
    "Transpose", "whether a triangular matrix is used as it is, transposed, or also conjugated", [
      I32EnumCase<"TRANSPOSE_INVALID", 0>, I32EnumCase<"NO_TRANSPOSE", 1>,
      I32EnumCase<"TRANSPOSE", 2>, I32EnumCase<"ADJOINT", 3>]>;
def Stablehlo_TransposeAttr : EnumAttr<Stablehlo_Dialect, Stablehlo_Transpose, "transpose">;

/// A plain i32 in text (`api_version = 2 : i32`), unlike the enums above.
def Stablehlo_CustomCallApiVersionAttr : I32EnumAttr<
    "CustomCallApiVersion", "calling convention of a custom call", [
      I32EnumAttrCase<"API_VERSION_UNSPECIFIED", 0>,
      I32EnumAttrCase<"API_VERSION_ORIGINAL", 1>,
      I32EnumAttrCase<"API_VERSION_STATUS_RETURNING", 2>,
      I32EnumAttrCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
      I32EnumAttrCase<"API_VERSION_TYPED_FFI", 4>]> {
  let cppNamespace = "::tilewright::stablehlo";
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOENUMS_TD
