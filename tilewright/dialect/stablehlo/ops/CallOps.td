// Ops that communicate with the outside of the program: calls by name, and transfers
// to the host and to other processes.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_CALLOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_CALLOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

/// An op with external side effects, whose order must be preserved.
class Stablehlo_TransferOp<string mnemonic>
    : Stablehlo_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def Stablehlo_CompositeOp
    : Stablehlo_Op<"composite", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A named op that consists of other ops: `decomposition` defines its semantics.";
  let description = [{
    `results = decomposition(inputs...)`; `name`, `version` and
    `composite_attributes` let a target that knows the op use its own

    ```mlir
    %result = stablehlo.composite "chlo.erf" %x {decomposition = @erf_impl, version = 1 : i32}
        : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_TensorTokenOrTuple>:$inputs, StrAttr:$name,
                       OptionalAttr<DictionaryAttr>:$composite_attributes,
                       FlatSymbolRefAttr:$decomposition,
                       DefaultValuedOptionalAttr<I32Attr, "0">:$version);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let results = (outs Variadic<Stablehlo_TensorTokenOrTuple>:$results);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $name $inputs (` ` `(` $composite_regions^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_CustomCallOp
    : Stablehlo_Op<"custom_call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Calls an implementation that is registered with the target by name.";
  let description = [{
    `results = call_target_name(inputs...)`

    ```mlir
    %result = stablehlo.custom_call @solve(%x) {api_version = 4 : i32, backend_config = {uplo = "L"}}
        : (tensor<4x4xf32>) -> tensor<4x4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_CustomCallValue>:$inputs, StrAttr:$call_target_name,
                       defaultFalse:$has_side_effect,
                       OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr]>>:$backend_config,
                       DefaultValuedOptionalAttr<Stablehlo_CustomCallApiVersionAttr,
                           "CustomCallApiVersion::API_VERSION_ORIGINAL">:$api_version,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$called_computations,
                       OptionalAttr<Stablehlo_LayoutsAttr>:$operand_layouts,
                       OptionalAttr<Stablehlo_LayoutsAttr>:$result_layouts,
                       OptionalAttr<TypedArrayAttrBase<Stablehlo_OutputOperandAliasAttr,
                           "array of output operand aliases">>:$output_operand_aliases,
                       OptionalAttr<Stablehlo_TilingsAttr>:$result_tilings);
  let results = (outs Variadic<Stablehlo_CustomCallValue>:$results);
  let hasVerifier = 1;
  let assemblyFormat = [{
    custom<CallTarget>($call_target_name) `(` $inputs `)`
      attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_InfeedOp : Stablehlo_TransferOp<"infeed"> {
  let summary = "Reads values that the host feeds to the program.";
  let description = [{
    `(values..., new token) = infeed[infeed_config]`, after `token`

    ```mlir
    %value, %done = "stablehlo.infeed"(%token) <{infeed_config = ""}>
        : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
    ```
  }];
  let arguments = (ins Stablehlo_Token:$token, DefaultValuedStrAttr<StrAttr, "">:$infeed_config,
                       OptionalAttr<ArrayAttr>:$layout);
  let results = (outs Variadic<Stablehlo_StaticTensorOrToken>:$results);
  let hasVerifier = 1;
}

def Stablehlo_OutfeedOp : Stablehlo_TransferOp<"outfeed"> {
  let summary = "Sends values to the host.";
  let description = [{
    `outfeed[outfeed_config] = inputs...`, after `token`

    ```mlir
    %done = "stablehlo.outfeed"(%value, %token) <{outfeed_config = ""}>
        : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_AnyTensor>:$inputs, Stablehlo_Token:$token,
                       DefaultValuedStrAttr<StrAttr, "">:$outfeed_config);
  let results = (outs Stablehlo_Token:$result);
}

def Stablehlo_SendOp : Stablehlo_TransferOp<"send"> {
  let summary = "Sends values into a channel, to another process or to the host.";
  let description = [{
    `channel[channel_handle] = inputs...`, after `token`

    ```mlir
    %done = "stablehlo.send"(%value, %token) <{is_host_transfer = false,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>
    }> : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_AnyTensor>:$inputs, Stablehlo_Token:$token,
                       Stablehlo_ChannelHandleAttr:$channel_handle, defaultFalse:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Stablehlo_Token:$result);
  let hasVerifier = 1;
}

def Stablehlo_RecvOp : Stablehlo_TransferOp<"recv"> {
  let summary = "Receives values from a channel.";
  let description = [{
    `(values..., new token) = channel[channel_handle]`, after `token`

    ```mlir
    %value, %done = "stablehlo.recv"(%token) <{is_host_transfer = true,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>
    }> : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
    ```
  }];
  let arguments = (ins Stablehlo_Token:$token, Stablehlo_ChannelHandleAttr:$channel_handle,
                       defaultFalse:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Variadic<Stablehlo_StaticTensorOrToken>:$results);
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_CALLOPS_TD
