#ifndef TILEWRIGHT_DIALECT_EXEC_EXECOPS_TD
#define TILEWRIGHT_DIALECT_EXEC_EXECOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::tilewright::exec";
  let summary = "The host's plan: what runs as one kernel, what is launched, copied, exchanged, and in which memory.";
  let description = [{
    Values are tensors and stay so to the end; where they live is an attribute
    (`#exec.slice`) that `transform/schedule` writes on the op that makes them.
    Host control flow stays `stablehlo.while`, `if` and `case`. The driver
    translates a scheduled function op by op into `artifact::Executable`.
  }];
  let useDefaultAttributePrinterParser = 1;
  // What a stage leaves on functions and ops of other dialects, see README.md.
  let extraClassDeclaration = [{
    /// On a function: the array of #exec.allocation that slices point into.
    static constexpr ::llvm::StringLiteral allocationsAttr = "exec.allocations";
    /// On an op: #exec.slice of each result.
    static constexpr ::llvm::StringLiteral slicesAttr = "exec.slices";
    /// On a function or an op with regions: for each region, #exec.slice of each block argument.
    static constexpr ::llvm::StringLiteral argumentSlicesAttr = "exec.argument_slices";
    /// On the module: a string, the machine; see target/.
    static constexpr ::llvm::StringLiteral targetAttr = "exec.target";
  }];
}

class Exec_Attr<string name, string mnemonicName> : AttrDef<Exec_Dialect, name> {
  let mnemonic = mnemonicName;
  let assemblyFormat = "`<` struct(params) `>`";
}

def Exec_AllocationAttr : Exec_Attr<"Allocation", "allocation"> {
  let summary = "A piece of memory: where it comes from and how large it is.";
  let description = [{
    `storage` is parameter, result, constant or temporary, as in artifact::Storage;
    `index` is the parameter's or result's number, or the offset among the
    constants or in the arena.
  }];
  let parameters = (ins StringRefParameter<"parameter, result, constant or temporary">:$storage,
                        "int64_t":$index, "int64_t":$bytes, "int64_t":$space);
}

def Exec_SliceAttr : Exec_Attr<"Slice", "slice"> {
  let summary = "Bytes of an allocation.";
  let parameters = (ins "int64_t":$allocation, "int64_t":$offset, "int64_t":$bytes);
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_FusionOp : Exec_Op<"fusion", [IsolatedFromAbove, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Ops that will become one kernel.";
  let description = [{
    The body holds StableHLO ops on whole tensors; its arguments are the
    operands. `name` is what people see; `reason` says why the ops are together.

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
  let summary = "Gives the results of a fusion.";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Exec_LaunchOp : Exec_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel over its grid.";
  let description = [{
    `kernel` is a `tile.kernel`, whose arguments are the inputs and then the
    results. Pure in tensors: a result is new memory unless `aliases` says that
    the kernel may write result `r` over input `i` (pairs `[r, i]`), because it
    reads each element before it writes that one.

    ```mlir
    %r = exec.launch @add_exp(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs,
                       OptionalAttr<DenseI64ArrayAttr>:$aliases);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)
  }];
}

def Exec_LibraryOp : Exec_Op<"library"> {
  let summary = "Calls a kernel of the runtime's library.";
  let description = [{
    `config` holds only strings and arrays of integers (`array<i64: …>`). `bodies` name scalar
    functions in the module that the kernel calls. `aliases` as in exec.launch.

    ```mlir
    %r = exec.library "sort" (%a) {config = {dimension = array<i64: 0>, comparator = "lt", …}}
         : (tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$inputs, DictionaryAttr:$config,
                       OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "names of functions">>:$bodies,
                       OptionalAttr<DenseI64ArrayAttr>:$aliases);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $name `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)
  }];
}

def Exec_CustomCallOp : Exec_Op<"custom_call"> {
  let summary = "Calls a handler that was registered by name.";
  let description = [{
    `config` is a dictionary for version 4 and a string before. `aliases` pairs
    `[result, input]` that must share memory, as output_operand_aliases says.
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
  let summary = "The same tensor in other memory.";
  let description = [{
    Inserted by transform/schedule where two values must not share memory. Its
    slice is where the copy goes; an identity of slices is no copy at all.
  }];
  let arguments = (ins AnyType:$input);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Exec_CollectiveStartOp : Exec_Op<"collective_start"> {
  let summary = "Begins an exchange between ranks; others may run until it is done.";
  let description = [{
    `kind` is the StableHLO op's name. `groups` are ranks (pairs for
    collective_permute), a 2-D array with -1 for absent. The results must not be
    read before the exec.collective_done with the same `id`.
  }];
  let arguments = (ins StrAttr:$kind, Variadic<AnyType>:$inputs, I64Attr:$id,
                       I64ElementsAttr:$groups, DictionaryAttr:$config,
                       OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "names of functions">>:$bodies);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $kind `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)
  }];
}

def Exec_CollectiveDoneOp : Exec_Op<"collective_done"> {
  let summary = "Waits for an exchange; its results are those of the start, complete.";
  let arguments = (ins Variadic<AnyType>:$inputs, I64Attr:$id);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
}

#endif // TILEWRIGHT_DIALECT_EXEC_EXECOPS_TD
