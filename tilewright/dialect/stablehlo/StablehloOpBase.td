// Types, attributes and traits that every group of ops includes.
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

/// No side effects, and safe to hoist if every shape is static. Ops with dynamic shapes
/// are not hoisted, because a mismatch of shapes is detected only at run time.
def Stablehlo_SpeculatableIfStatic : TraitList<[
    ConditionallySpeculatable, Stablehlo_Trait<"SpeculatableIfStatic">]>;
def Stablehlo_Pure : TraitList<[NoMemoryEffect, Stablehlo_SpeculatableIfStatic]>;

/// Operands and results have the same shape, as far as it is static.
def Stablehlo_SameShape : Stablehlo_Trait<"SameShape">;

/// Operands and results have the same element type, up to quantization parameters
/// (`baseline_element_type` of the specification).
def Stablehlo_SameBaselineElementType : Stablehlo_Trait<"SameBaselineElementType">;

/// Region ops: pure if the ops in their regions are.
def Stablehlo_RegionEffects : TraitList<[RecursiveMemoryEffects, RecursivelySpeculatable]>;

/// Terminates every region of the dialect.
def Stablehlo_ReturnTerminated : SingleBlockImplicitTerminator<"ReturnOp">;

/// Verifiers, not ODS constraints, check the ranges of attributes, because their messages
/// can name the dimension and the operand that determine the limit.
defvar defaultFalse = DefaultValuedOptionalAttr<BoolAttr, "false">;

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPBASE_TD
