// The dialect's own types, and the constraints on operand types that ops share.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "tilewright/dialect/stablehlo/StablehloDialect.td"

class Stablehlo_Type<string name, string typeMnemonic> : TypeDef<Stablehlo_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Stablehlo_Token : Stablehlo_Type<"Token", "token"> {
  let summary = "orders ops that have side effects; carries no data";
}

def Stablehlo_Future : Stablehlo_Type<"Future", "future"> {
  let summary = "tensors that an asynchronous op will have produced by `async_done`";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
  let genVerifyDecl = 1;
}

//===- Element types ------------------------------------------------------===//

def Stablehlo_Pred : TypeAlias<I1, "bool">;
def Stablehlo_SInt : SignlessIntOfWidths<[2, 4, 8, 16, 32, 64]>;
def Stablehlo_UInt : UnsignedIntOfWidths<[2, 4, 8, 16, 32, 64]>;
def Stablehlo_Int : AnyTypeOf<[Stablehlo_SInt, Stablehlo_UInt], "2/4/8/16/32/64-bit integer">;
def Stablehlo_Float : AnyTypeOf<[F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E3M4, F8E4M3, F8E4M3FN,
    F8E4M3FNUZ, F8E4M3B11FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, BF16, F16, F32, F64],
    "4/6/8/16/32/64-bit float">;
def Stablehlo_WideFloat : AnyTypeOf<[F32, F64], "32/64-bit float">;
def Stablehlo_Complex : Complex<Stablehlo_WideFloat>;
def Stablehlo_Quantized : Type<
    CPred<"::tilewright::stablehlo::isPerTensorQuantized($_self)">,
    "per-tensor quantized integer (zero point in its range)">;
def Stablehlo_PerAxisQuantized : Type<
    CPred<"::tilewright::stablehlo::isPerAxisQuantized($_self)">,
    "per-axis quantized integer (one scale per slice)">;
def Stablehlo_ShapeInt : AnyTypeOf<[Stablehlo_Int, Index], "integer or index">;

//===- Tensors ------------------------------------------------------------===//

defvar plainElements = [Stablehlo_Pred, Stablehlo_Int, Stablehlo_Float, Stablehlo_Complex];

/// Per-axis quantized types must have one scale for each slice of their dimension.
def HasValidQuantizedAxis : CPred<"::tilewright::stablehlo::hasValidQuantizedAxis($_self)">;
def HasStaticOrBoundedShape : CPred<"::tilewright::stablehlo::hasStaticOrBoundedShape($_self)">;

def Stablehlo_PlainTensor : RankedTensorOf<plainElements>;
def Stablehlo_Tensor : RankedTensorOf<plainElements # [Stablehlo_Quantized]>;
def Stablehlo_AnyTensor : RankedTensorOf<
    plainElements # [Stablehlo_Quantized, Stablehlo_PerAxisQuantized], [HasValidQuantizedAxis]>;
def Stablehlo_StaticTensor : RankedTensorOf<
    plainElements # [Stablehlo_Quantized, Stablehlo_PerAxisQuantized],
    [HasValidQuantizedAxis, HasStaticShapePred], "statically shaped tensor">;
def Stablehlo_StaticOrBoundedTensor : RankedTensorOf<
    plainElements # [Stablehlo_Quantized, Stablehlo_PerAxisQuantized],
    [HasValidQuantizedAxis, HasStaticOrBoundedShape], "statically shaped or bounded tensor">;

def Stablehlo_PredTensor : RankedTensorOf<[Stablehlo_Pred]>;
def Stablehlo_IntTensor : RankedTensorOf<[Stablehlo_Int]>;
def Stablehlo_I32Tensor : RankedTensorOf<[I32]>;
def Stablehlo_UI32Tensor : RankedTensorOf<[UI32]>;
def Stablehlo_PredOrIntTensor : RankedTensorOf<[Stablehlo_Pred, Stablehlo_Int]>;
def Stablehlo_FloatTensor : RankedTensorOf<[Stablehlo_Float]>;
def Stablehlo_WideFloatTensor : RankedTensorOf<[Stablehlo_WideFloat]>;
def Stablehlo_ComplexTensor : RankedTensorOf<[Stablehlo_Complex]>;
def Stablehlo_FloatOrComplexTensor : RankedTensorOf<[Stablehlo_Float, Stablehlo_Complex]>;
def Stablehlo_FloatOrQuantizedTensor : RankedTensorOf<[Stablehlo_Float, Stablehlo_Quantized]>;
def Stablehlo_FloatOrAnyQuantizedTensor : RankedTensorOf<
    [Stablehlo_Float, Stablehlo_Quantized, Stablehlo_PerAxisQuantized], [HasValidQuantizedAxis]>;
def Stablehlo_AnyQuantizedTensor : RankedTensorOf<
    [Stablehlo_Quantized, Stablehlo_PerAxisQuantized], [HasValidQuantizedAxis]>;
def Stablehlo_IntOrFloatTensor : RankedTensorOf<[Stablehlo_Int, Stablehlo_Float]>;
def Stablehlo_PredIntOrFloatTensor
    : RankedTensorOf<[Stablehlo_Pred, Stablehlo_Int, Stablehlo_Float]>;
/// Operands of analytic functions.
def Stablehlo_AnalyticTensor
    : RankedTensorOf<[Stablehlo_Float, Stablehlo_Complex, Stablehlo_Quantized]>;
/// Operands of arithmetic: all types except booleans.
def Stablehlo_NumberTensor
    : RankedTensorOf<[Stablehlo_Int, Stablehlo_Float, Stablehlo_Complex, Stablehlo_Quantized]>;
def Stablehlo_SignedTensor
    : RankedTensorOf<[Stablehlo_SInt, Stablehlo_Float, Stablehlo_Complex, Stablehlo_Quantized]>;
def Stablehlo_SignedRealTensor
    : RankedTensorOf<[Stablehlo_SInt, Stablehlo_Float, Stablehlo_Quantized]>;

def Stablehlo_Scalar : 0DTensorOf<plainElements # [Stablehlo_Quantized]>;
def Stablehlo_I32Scalar : 0DTensorOf<[I32]>;
def Stablehlo_IntScalar : 0DTensorOf<[Stablehlo_Int]>;
def Stablehlo_PredIntOrFloatScalar : 0DTensorOf<[Stablehlo_Pred, Stablehlo_Int, Stablehlo_Float]>;
def Stablehlo_FloatVector : 1DTensorOf<[Stablehlo_Float, Stablehlo_Quantized]>;
/// A shape, or one number per dimension, as a value.
def Stablehlo_ShapeVector : RankedTensorOf<
    [Stablehlo_ShapeInt], [HasStaticShapePred, HasAnyRankOfPred<[1]>],
    "statically shaped 1-dimensional tensor">;
def Stablehlo_DynamicShapeVector : 1DTensorOf<[Stablehlo_ShapeInt]>;
def Stablehlo_IntMatrix : RankedTensorOf<
    [Stablehlo_Int], [HasStaticShapePred, HasAnyRankOfPred<[2]>],
    "statically shaped 2-dimensional tensor">;
def Stablehlo_IndexTensor : RankedTensorOf<[Stablehlo_Int, Index]>;

//===- Values of other kinds ----------------------------------------------===//

def Stablehlo_Buffer : MemRefOf<plainElements # [Stablehlo_Quantized]>;
def Stablehlo_TensorOrToken : AnyTypeOf<[Stablehlo_AnyTensor, Stablehlo_Token]>;
def Stablehlo_StaticTensorOrToken : AnyTypeOf<[Stablehlo_StaticTensor, Stablehlo_Token]>;
def Stablehlo_TensorTokenOrBuffer
    : AnyTypeOf<[Stablehlo_AnyTensor, Stablehlo_Token, Stablehlo_Buffer]>;
def Stablehlo_Tuple : NestedTupleOf<[Stablehlo_AnyTensor, Stablehlo_Buffer, Stablehlo_Token]>;
def Stablehlo_TensorTokenOrTuple
    : AnyTypeOf<[Stablehlo_AnyTensor, Stablehlo_Token, Stablehlo_Tuple]>;
def Stablehlo_Value
    : AnyTypeOf<[Stablehlo_AnyTensor, Stablehlo_Token, Stablehlo_Tuple, Stablehlo_Buffer]>;
def Stablehlo_CustomCallValue : AnyTypeOf<[Stablehlo_AnyTensor, Stablehlo_Token, Stablehlo_Tuple,
    Stablehlo_Buffer, Stablehlo_Future]>;

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_TD
