// Collective ops, which all processes of a group execute together.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVEOPS_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVEOPS_TD

include "tilewright/dialect/stablehlo/StablehloOpBase.td"

// None of these ops declares its side effects: every process of a group must execute
// them in the same order, so passes that do not know them must not move or erase them.

/// A collective over replica groups, which may name a mesh by symbol.
class Stablehlo_CollectiveOp<string mnemonic, list<Trait> traits = []> : Stablehlo_Op<mnemonic,
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>] # traits>;

def Stablehlo_AllGatherOp : Stablehlo_CollectiveOp<"all_gather"> {
  let summary = "Concatenates the tensors of a group along one dimension; all processes receive the result.";
  let description = [{
    `results@p = concatenate(inputs@q for q in group(p), all_gather_dim)`

    ```mlir
    %result = "stablehlo.all_gather"(%input) <{all_gather_dim = 1 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids
    }> : (tensor<2x2xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs, I64Attr:$all_gather_dim,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
}

def Stablehlo_AllReduceOp : Stablehlo_CollectiveOp<"all_reduce", [Stablehlo_ReturnTerminated]> {
  let summary = "Reduces the tensors of a group element by element; all processes receive the result.";
  let description = [{
    `results@p[i] = fold(computation, inputs@q[i] for q in group(p))`

    ```mlir
    %result = "stablehlo.all_reduce"(%input) <{
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %sum = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_AllToAllOp : Stablehlo_CollectiveOp<"all_to_all"> {
  let summary = "Each process splits its tensor and sends one piece to each process of its group.";
  let description = [{
    `results@p = concatenate(split(inputs@q)[position of p] for q in group(p))`

    ```mlir
    %result = "stablehlo.all_to_all"(%input) <{split_dimension = 1 : i64,
      concat_dimension = 0 : i64, split_count = 2 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    }> : (tensor<2x4xf32>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs, I64Attr:$split_dimension,
                       I64Attr:$concat_dimension, I64Attr:$split_count,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
}

def Stablehlo_ReduceScatterOp
    : Stablehlo_CollectiveOp<"reduce_scatter", [Stablehlo_ReturnTerminated]> {
  let summary = "Reduces the tensors of a group; each process receives one piece of the result.";
  let description = [{
    `result@p = split(all_reduce(operand), scatter_dimension)[position of p]`

    ```mlir
    %result = "stablehlo.reduce_scatter"(%operand) <{scatter_dimension = 0 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %sum = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, I64Attr:$scatter_dimension,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_CollectiveBroadcastOp : Stablehlo_CollectiveOp<"collective_broadcast"> {
  let summary = "Sends the tensors of one process to its group.";
  let description = [{
    `results@p = inputs@root(p)`; the root is the first process of the group or, with
    `has_dynamic_root`, the process that the last input specifies. Processes outside
    of all groups receive zeros.

    ```mlir
    %result = "stablehlo.collective_broadcast"(%input)
        <{replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
}

def Stablehlo_CollectiveReduceOp
    : Stablehlo_CollectiveOp<"collective_reduce", [Stablehlo_ReturnTerminated]> {
  let summary = "Reduces the tensors of a group; one process receives the result.";
  let description = [{
    `results@root(p) = all_reduce(inputs)`, and other processes receive zeros

    ```mlir
    %result = "stablehlo.collective_reduce"(%input) <{
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %sum = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs,
                       Stablehlo_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids, UnitAttr:$has_dynamic_root);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Stablehlo_CollectivePermuteOp : Stablehlo_Op<"collective_permute"> {
  let summary = "Each process sends its tensor to at most one other process.";
  let description = [{
    `result@target = operand@source` for each pair, and zeros where nothing arrives

    ```mlir
    %result = "stablehlo.collective_permute"(%operand)
        <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}>
        : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, I64ElementsAttr:$source_target_pairs,
                       OptionalAttr<Stablehlo_ChannelHandleAttr>:$channel_handle);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
}

def Stablehlo_CrossReplicaSumOp : Stablehlo_Op<"cross-replica-sum"> {
  let summary = "Sum over replica groups (legacy: use all_reduce).";
  let description = [{
    `result@p = sum of operand@q for q in group(p)`

    ```mlir
    %result = "stablehlo.cross-replica-sum"(%operand)
        <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Tensor:$operand, I64ElementsAttr:$replica_groups);
  let results = (outs Stablehlo_Tensor:$result);
  let hasVerifier = 1;
}

//===- Asynchrony ---------------------------------------------------------===//

def Stablehlo_AsyncStartOp : Stablehlo_Op<"async_start", [Stablehlo_ReturnTerminated]> {
  let summary = "Starts the single op of its region; async_done waits for it.";
  let description = [{
    `result = future of body(inputs...)`

    ```mlir
    %future = "stablehlo.async_start"(%input) ({
    ^bb0(%x: tensor<2x2xf32>):
      %whole = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64,
        replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
      }> : (tensor<2x2xf32>) -> tensor<2x4xf32>
      stablehlo.return %whole : tensor<2x4xf32>
    }) : (tensor<2x2xf32>) -> !stablehlo.future<tensor<2x4xf32>>
    ```
  }];
  let arguments = (ins Variadic<Stablehlo_Tensor>:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Stablehlo_Future:$result);
  let hasRegionVerifier = 1;
}

def Stablehlo_AsyncDoneOp : Stablehlo_Op<"async_done"> {
  let summary = "Waits for an asynchronous op and returns its results.";
  let description = [{
    `results = value of operand`

    ```mlir
    %whole = "stablehlo.async_done"(%future) : (!stablehlo.future<tensor<2x4xf32>>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Stablehlo_Future:$operand);
  let results = (outs Variadic<Stablehlo_Tensor>:$results);
  let hasVerifier = 1;
}

//===- Identity -----------------------------------------------------------===//

def Stablehlo_PartitionIdOp : Stablehlo_Op<"partition_id", [Pure]> {
  let summary = "The partition id of this process.";
  let description = [{
    `result = partition of the process grid`

    ```mlir
    %id = stablehlo.partition_id : tensor<ui32>
    ```
  }];
  let results = (outs Stablehlo_UI32Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Stablehlo_ReplicaIdOp : Stablehlo_Op<"replica_id", [Pure]> {
  let summary = "The replica id of this process.";
  let description = [{
    `result = replica of the process grid`

    ```mlir
    %id = stablehlo.replica_id : tensor<ui32>
    ```
  }];
  let results = (outs Stablehlo_UI32Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif // TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVEOPS_TD
