// RUN: tilewright-opt %s --lower-verify --split-input-file --verify-diagnostics

/// What a CPU gets: launches of tile kernels, library calls, collectives in two halves, control flow and views.
tile.kernel @copy grid [1] inputs 1 {
^bb0(%i: index, %x: memref<8xf32>, %out: memref<8xf32>):
  %t = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %t, %out[%i] : tensor<8xf32>, memref<8xf32>
}
func.func private @body(%x: f32) -> f32 {
  %0 = arith.negf %x : f32
  return %0 : f32
}
func.func @steps(%x: tensor<8xf32>, %p: tensor<i1>) -> tensor<2x4xf32> {
  %0 = exec.launch @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = exec.reverse(%0) {dimensions = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = exec.collective_start <kind = all_reduce, reduction = add>(%1) {groups = dense<[[0]]> : tensor<1x1xi64>, id = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = exec.collective_done(%2) {id = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %4 = "stablehlo.if"(%p) ({
    %c = stablehlo.constant dense<1.0> : tensor<8xf32>
    stablehlo.return %c : tensor<8xf32>
  }, {
    stablehlo.return %3 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %5 = stablehlo.reshape %4 : (tensor<8xf32>) -> tensor<2x4xf32>
  return %5 : tensor<2x4xf32>
}

// -----

/// What a GPU gets: launches of sm kernels.
module attributes {exec.target = #exec.target<chip = "sm_90a", units = 132, gpu = <>>} {
  sm.kernel @nothing grid [1] inputs 0 warps 4 {
  ^bb0(%i: index, %out: memref<8xf32>):
  }
  func.func @steps() -> tensor<8xf32> {
    %0 = exec.launch @nothing() : () -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

func.func @not_lowered(%x: tensor<8xf32>, %p: tensor<i1>) -> tensor<8xf32> {
  %0 = "stablehlo.if"(%p) ({
    // expected-error @below {{E2101 transform: 'stablehlo.negate' is not supported: no stage lowered it to a step of the plan}}
    %n = stablehlo.negate %x : tensor<8xf32>
    stablehlo.return %n : tensor<8xf32>
  }, {
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

module attributes {exec.target = #exec.target<chip = "sm_90a", units = 132, gpu = <>>} {
  func.func @launch() -> tensor<8xf32> {
    // expected-error @below {{E2041 lower: 'exec.launch' launches 'tile.kernel' @tiles, but the target compiles 'sm.kernel'}}
    %0 = exec.launch @tiles() : () -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  tile.kernel @tiles grid [1] inputs 0 {
  ^bb0(%i: index, %out: memref<8xf32>):
  }
}

// -----

// expected-error @below {{E2041 lower: 'sm.kernel' @threads is left, but the target compiles 'tile.kernel'}}
sm.kernel @threads grid [1] inputs 0 warps 4 {
^bb0(%i: index, %out: memref<8xf32>):
}

// -----

func.func @never_awaited(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{E2041 lower: 'exec.collective_start' has id 3, but no exec.collective_done takes its results}}
  %0 = exec.collective_start <kind = all_reduce, reduction = add>(%x) {groups = dense<[[0]]> : tensor<1x1xi64>, id = 3 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %x : tensor<8xf32>
}

// -----

func.func @read_too_early(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = exec.collective_start <kind = all_reduce, reduction = add>(%x) {groups = dense<[[0]]> : tensor<1x1xi64>, id = 3 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = exec.collective_done(%0) {id = 3 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{E2041 lower: 'exec.reverse' reads the result of collective 3 beside its exec.collective_done}}
  %2 = exec.reverse(%0) {dimensions = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @other_id(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = exec.collective_start <kind = all_reduce, reduction = add>(%x) {groups = dense<[[0]]> : tensor<1x1xi64>, id = 3 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{E2041 lower: 'exec.collective_done' expects the results of the exec.collective_start with id 4 in the same block}}
  %1 = exec.collective_done(%0) {id = 4 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
