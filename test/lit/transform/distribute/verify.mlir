// RUN: tilewright-opt %s --distribute-verify --split-input-file --verify-diagnostics

/// The program of one of two devices.
module attributes {mhlo.num_partitions = 2 : i32, exec.mesh = {names = ["x"], order = array<i64>, sizes = array<i64: 2>}} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

/// With one partition nothing is divided: simplify removes the shardings.
sdy.mesh @mesh = <["x"=1]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{E2030 distribute: 'sdy.sharding_constraint' is still in the program of one device; this is a compiler bug}}
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

/// The region is named before the ops in it.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{E2030 distribute: 'sdy.manual_computation' is still in the program of one device}}
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<2xf32>) {
      sdy.return %p : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// expected-error @below {{E2031 distribute: the mesh has 4 ranks, but the program has 1 replicas of 2 partitions}}
module attributes {mhlo.num_partitions = 2 : i32, exec.mesh = {names = ["x"], order = array<i64>, sizes = array<i64: 4>}} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

/// Also in a function that is called, and in a region.
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func private @step(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{E2031 distribute: 'stablehlo.collective_permute' refers to process 2, but the program has 2 replicas of 1 partitions}}
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @step(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
