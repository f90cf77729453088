// What every group of ops includes: types, attributes, traits.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPBASE_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPBASE_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tilewright/dialect/stablehlo/StablehloAttrs.td"
include "tilewright/dialect/stablehlo/StablehloTypes.td"

class Stablehlo_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::tilewright::stablehlo";
}

/// No side effect, and safe to hoist when every shape is static: a mismatch of
/// dynamic shapes is found only by running the op, so those stay where they are.
def Stablehlo_SpeculatableIfStatic : TraitList<[
    ConditionallySpeculatable, Stablehlo_Trait<"SpeculatableIfStatic">]>;
def Stablehlo_Pure : TraitList<[NoMemoryEffect, Stablehlo_SpeculatableIfStatic]>;

/// Operands and results have one shape, as far as it is static.
def Stablehlo_SameShape : Stablehlo_Trait<"SameShape">;

/// Operands and results have one element type, up to quantization parameters
/// (`baseline_element_type` of the specification).
def Stablehlo_SameBaselineElementType : Stablehlo_Trait<"SameBaselineElementType">;

/// Region ops: as pure as what their regions hold.
def Stablehlo_RegionEffects : TraitList<[RecursiveMemoryEffects, RecursivelySpeculatable]>;

/// Terminates every region of the dialect.
def Stablehlo_ReturnTerminated : SingleBlockImplicitTerminator<"ReturnOp">;

/// Ranges of attributes are the verifiers' business: they can say which
/// dimension of which operand gives the limit.
defvar defaultFalse = DefaultValuedOptionalAttr<BoolAttr, "false">;

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPBASE_TD
