#ifndef TILEWRIGHT_DIALECT_SDY_SDYOPS_TD
#define TILEWRIGHT_DIALECT_SDY_SDYOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tilewright/dialect/sdy/SdyAttrs.td"

class Sdy_Op<string mnemonic, list<Trait> traits = []> : Op<Sdy_Dialect, mnemonic, traits>;

def Sdy_MeshOp : Sdy_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Names a mesh, so that shardings can refer to it.";
  let description = [{
    ```mlir
    sdy.mesh @mesh = <["x"=2, "y"=4]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_Mesh:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def Sdy_ShardingConstraintOp : Sdy_Op<"sharding_constraint",
    [SameOperandsAndResultType, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Returns its operand, cut as `sharding` says.";
  let description = [{
    ```mlir
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?} ]> : tensor<8x8xf32>
    ```

    Without uses, the sharding is asked of the operand itself. For that reason
    the op is not `Pure`: it must not be erased as dead.
  }];
  let arguments = (ins AnyType:$input, Sdy_TensorSharding:$sharding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_ManualComputationOp : Sdy_Op<"manual_computation",
    [RecursiveMemoryEffects, IsolatedFromAbove, SingleBlockImplicitTerminator<"ReturnOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a region written per device.";
  let description = [{
    Over `manual_axes` the body sees one device's piece of each operand, as
    `in_shardings` cut it, and calls collectives itself. The pieces it returns
    are put together as `out_shardings` say. Over all other axes the body sees
    whole tensors.

    ```mlir
    %1 = sdy.manual_computation(%0)
        in_shardings=[<@mesh, [{"x"}, {} ]>] out_shardings=[<@mesh, [{"x"}, {} ]>]
        manual_axes={"x"} (%piece: tensor<4x8xf32>) {
      sdy.return %piece : tensor<4x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }];
  let arguments = (ins
    Variadic<AnyType>:$tensors,
    Sdy_TensorShardingPerValue:$in_shardings,
    Sdy_TensorShardingPerValue:$out_shardings,
    Sdy_ManualAxes:$manual_axes);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` operands `)`
    `in_shardings` `` `=` `` custom<StrippedShardings>($in_shardings)
    `out_shardings` `` `=` `` custom<StrippedShardings>($out_shardings)
    `manual_axes` `` `=` `` $manual_axes
    custom<BodyWithArguments>($body)
    attr-dict `:` functional-type(operands, results)
  }];
}

def Sdy_ReturnOp : Sdy_Op<"return", [Pure, ReturnLike, Terminator, HasParent<"ManualComputationOp">]> {
  let summary = "Ends the body of a `sdy.manual_computation` with the pieces of its results.";
  let arguments = (ins Variadic<AnyType>:$results);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

#endif // TILEWRIGHT_DIALECT_SDY_SDYOPS_TD
