// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Implementations by name, the host and peers.
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32>

// CHECK-LABEL: sym_name = "calls"
func.func @calls(%x: tensor<4xf32>, %buffer: memref<4xf32>) {
  // CHECK: "stablehlo.composite"(%{{.*}}) <{composite_attributes = {k = 1 : i64}, decomposition = @helper, name = "some.op", version = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "stablehlo.composite"(%x) <{composite_attributes = {k = 1 : i64}, decomposition = @helper, name = "some.op", version = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.composite"(%{{.*}}) <{decomposition = @helper, name = "with.region"}> ({
  %1 = "stablehlo.composite"(%x) <{decomposition = @helper, name = "with.region"}> ({
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<4xf32>) -> ()
    "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
  // CHECK: }) : (tensor<4xf32>) -> tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.custom_call"(%{{.*}}) <{api_version = 4 : i32, backend_config = {uplo = "L"}, call_target_name = "solve", called_computations = [@helper], has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>], result_tilings = {{\[\[}}dense<[8, 128]> : tensor<2xindex>]]}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.custom_call"(%x) <{api_version = 4 : i32, backend_config = {uplo = "L"}, call_target_name = "solve", called_computations = [@helper], has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>], result_tilings = [[dense<[8, 128]> : tensor<2xindex>]]}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.custom_call"(%{{.*}}) <{backend_config = "text", call_target_name = "Unpin"}> : (memref<4xf32>) -> tensor<4xf32>
  %3 = "stablehlo.custom_call"(%buffer) <{backend_config = "text", call_target_name = "Unpin"}> : (memref<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: sym_name = "transfers"
func.func @transfers(%x: tensor<4xf32>, %token: !stablehlo.token) {
  // CHECK: "stablehlo.infeed"(%{{.*}}) <{infeed_config = "c", layout = {{\[\[}}0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %0:2 = "stablehlo.infeed"(%token) <{infeed_config = "c", layout = [[0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  // CHECK: "stablehlo.outfeed"(%{{.*}}, %{{.*}}) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %1 = "stablehlo.outfeed"(%x, %token) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK: "stablehlo.send"(%{{.*}}, %{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %2 = "stablehlo.send"(%x, %token) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK: "stablehlo.recv"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %3:2 = "stablehlo.recv"(%token) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}
