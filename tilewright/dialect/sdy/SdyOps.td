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
  let summary = "Defines a mesh that shardings can refer to by name.";
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
  let summary = "Returns its operand, sharded as specified by `sharding`.";
  let description = [{
    ```mlir
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?} ]> : tensor<8x8xf32>
    ```

    If the result has no uses, the constraint applies to the operand itself. For
    this reason the op is not `Pure`: it must not be erased as dead.
  }];
  let arguments = (ins AnyType:$input, Sdy_TensorSharding:$sharding);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let summary = "Adds a tensor to a group whose members have the same sharding.";
  let description = [{
    ```mlir
    sdy.sharding_group %0 group_id=7 : tensor<8x8xf32>
    ```

    Members of a group have the same `group_id` and the same shape. The op computes nothing.
    JAX emits it for `shard_alike`. The op has no result, so it is not `Pure`: it must
    not be erased as dead.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}

def Sdy_ManualComputationOp : Sdy_Op<"manual_computation",
    [RecursiveMemoryEffects, IsolatedFromAbove, SingleBlockImplicitTerminator<"ReturnOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a region on the shards of each device.";
  let description = [{
    Along `manual_axes`, the body operates on one device's shard of each operand,
    as specified by `in_shardings`, and calls collectives explicitly. The results
    consist of the shards that it returns, as specified by `out_shardings`. Along
    all other axes the body operates on whole tensors.

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
  let summary = "Terminates the body of an `sdy.manual_computation` and returns the shards of its results.";
  let arguments = (ins Variadic<AnyType>:$results);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

#endif // TILEWRIGHT_DIALECT_SDY_SDYOPS_TD
