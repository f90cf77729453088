#ifndef TILEWRIGHT_DIALECT_EXEC_EXECOPS_TD
#define TILEWRIGHT_DIALECT_EXEC_EXECOPS_TD

include "tilewright/dialect/exec/ExecTarget.td"
include "tilewright/dialect/exec/LibraryEnums.td"

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_AllocationAttr : Exec_Attr<"Allocation", "allocation"> {
  let summary = "A memory allocation: its storage and size.";
  let description = [{
    `storage` is parameter, result, constant or temporary, as in artifact::Storage.
    `index` is the number of the parameter or result, or the offset in the constants
    or the arena.
  }];
  let parameters = (ins StringRefParameter<"parameter, result, constant or temporary">:$storage,
                        "int64_t":$index, "int64_t":$bytes, "int64_t":$space);
}

def Exec_SliceAttr : Exec_Attr<"Slice", "slice"> {
  let summary = "A byte range of an allocation.";
  let parameters = (ins "int64_t":$allocation, "int64_t":$offset, "int64_t":$bytes);
}

def Exec_FusionOp : Exec_Op<"fusion", [IsolatedFromAbove, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A group of ops that become one kernel.";
  let description = [{
    The body contains StableHLO ops on whole tensors; its arguments are the
    operands. `name` is shown to users, and `reason` states why the ops were fused.

    ```mlir
    %r = exec.fusion "add_exp" (%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
      %s = stablehlo.add %x, %y : tensor<8xf32>
      %e = stablehlo.exponential %s : tensor<8xf32>
      exec.yield %e : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$inputs, OptionalAttr<StrAttr>:$reason);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body
  }];
  let hasVerifier = 1;
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"FusionOp">]> {
  let summary = "Returns the results of a fusion.";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Exec_LaunchOp : Exec_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel over its grid.";
  let description = [{
    `kernel` is a `tile.kernel`, whose arguments are the inputs followed by the
    results. Each result is in new memory, unless `aliases` has a pair `[r, i]`:
    the kernel may then write result `r` over input `i`, because it reads each
    element before it writes the element at the same index.

    With `in_place`, the pairs must share memory: the kernel writes only some elements of these
    results, and the others keep the input's values (`updates` of `tile.kernel`).

    ```mlir
    %r = exec.launch @add_exp(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs,
                       OptionalAttr<DenseI64ArrayAttr>:$aliases, UnitAttr:$in_place);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)
  }];
}

def Exec_CustomCallOp : Exec_Op<"custom_call"> {
  let summary = "Calls a handler registered under a name.";
  let description = [{
    `config` is a dictionary for API version 4 and a string for earlier versions.
    `aliases` are pairs `[result, input]` that must share memory, as specified by
    output_operand_aliases.
  }];
  let arguments = (ins StrAttr:$target, Variadic<AnyType>:$inputs, I32Attr:$api_version,
                       AnyAttr:$config, UnitAttr:$has_side_effect,
                       OptionalAttr<DenseI64ArrayAttr>:$aliases);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $target `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)
  }];
}

def Exec_CopyOp : Exec_Op<"copy", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Copies a tensor to other memory.";
  let description = [{
    transform/schedule inserts it where two values must not share memory. Its
    slice is the destination; if source and destination are the same slice,
    nothing is copied.
  }];
  let arguments = (ins AnyType:$input);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Exec_CollectiveAttr : Exec_Attr<"Collective", "collective"> {
  let summary = "The kind and parameters of a collective.";
  let description = [{
    `kind` and `reduction` have StableHLO's names. `dimension` is the dimension along which
    all_gather and all_to_all concatenate and reduce_scatter splits; `split_dimension` is the
    dimension along which all_to_all splits its operands.
  }];
  let parameters = (ins "::tilewright::numerics::CollectiveKind":$kind,
                        DefaultValuedParameter<"int64_t", "0">:$dimension,
                        DefaultValuedParameter<"int64_t", "0">:$split_dimension,
                        DefaultValuedParameter<"::tilewright::numerics::ReductionKind",
                                               "::tilewright::numerics::ReductionKind::none">:$reduction);
}

def Exec_CollectiveStartOp : Exec_Op<"collective_start"> {
  let summary = "Starts a collective; other ops may run until it is done.";
  let description = [{
    `groups` are rows of ranks, padded with -1 (source-target pairs for collective_permute).
    `bodies` contains the function if the reduction is `function`. The results must not be read
    before the exec.collective_done with the same `id`.

    ```mlir
    %s = exec.collective_start <kind = all_reduce, reduction = add>(%x) {groups = …, id = 0 : i64}
         : (tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Exec_CollectiveAttr:$collective, Variadic<AnyType>:$inputs, I64Attr:$id,
                       I64ElementsAttr:$groups,
                       OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "names of functions">>:$bodies);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $collective `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)
  }];
}

def Exec_CollectiveDoneOp : Exec_Op<"collective_done"> {
  let summary = "Waits for a collective and returns the completed results of its start.";
  let arguments = (ins Variadic<AnyType>:$inputs, I64Attr:$id);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
}

#endif // TILEWRIGHT_DIALECT_EXEC_EXECOPS_TD
