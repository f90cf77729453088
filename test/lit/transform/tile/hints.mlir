// RUN: tilewright-opt %s --tile-fusions --tile-pipeline --split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

/// The tile that the user wants; the compiler chooses the cluster, in which two CTAs share the rows.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK: exec.hints = []
// CHECK-LABEL: sm.kernel @tile grid [32, 32] inputs 2 warps 12 cluster [2, 1, 1]
//       CHECK:   sm.channel depth {{.*}} : <<128x64xf16, {{.*}}>, <64x128xf16
module attributes {exec.target = #hopper, exec.hints = ["tile=128x64"]} {
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = exec.fusion "tile" (%a, %b) : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %c = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {exec.hint = "tile=128x64"} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    exec.yield %c : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}
}

// -----

/// All properties at once.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: sm.kernel @stages grid [32, 32] inputs 2 warps 12 raster 8 {
//       CHECK:   sm.channel depth 2 : <<128x64xf16
module attributes {exec.target = #hopper, exec.hints = ["tile=128x128 cluster=1x1 stages=2 persistent=false"]} {
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = exec.fusion "stages" (%a, %b) : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %c = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {exec.hint = "tile=128x128 cluster=1x1 stages=2 persistent=false"} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    exec.yield %c : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}
}

// -----

/// A cluster alone.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: sm.kernel @columns {{.*}} cluster [2, 1, 1]
module attributes {exec.target = #hopper, exec.hints = ["cluster=1x2"]} {
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = exec.fusion "columns" (%a, %b) : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %c = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {exec.hint = "cluster=1x2"} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    exec.yield %c : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}
}

// -----

/// A tile whose accumulator does not fit in registers.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// WHY: warning: hint 'tile=256x256 cluster=1x1' is refused: math needs {{.*}} registers per thread in 2 groups, but the limit is 255
// CHECK: exec.hints = []
// CHECK-LABEL: sm.kernel @deep
module attributes {exec.target = #hopper, exec.hints = ["tile=256x256 cluster=1x1"]} {
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = exec.fusion "deep" (%a, %b) : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %c = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {exec.hint = "tile=256x256 cluster=1x1"} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    exec.yield %c : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}
}

// -----

/// A size that matrix instructions do not have.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// WHY: warning: hint 'tile=48x256' is refused: tiles of this product have 64, 128, 256 rows and 8, 16, {{.*}} columns on sm_90a, not 48x256
// CHECK-LABEL: sm.kernel @odd
module attributes {exec.target = #hopper, exec.hints = ["tile=48x256"]} {
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = exec.fusion "odd" (%a, %b) : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %c = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {exec.hint = "tile=48x256"} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    exec.yield %c : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}
}

// -----

/// More slots than fit.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// WHY: warning: hint 'stages=100' is refused: operands has {{.*}} slots at most, because more do not fit, not 100
// CHECK-LABEL: sm.kernel @many
module attributes {exec.target = #hopper, exec.hints = ["stages=100"]} {
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = exec.fusion "many" (%a, %b) : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %c = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {exec.hint = "stages=100"} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    exec.yield %c : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}
}

// -----

/// Warps of wgmma are groups of four.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// WHY: warning: hint 'warps=3' is refused: {{.*}} warps multiply a tile of {{.*}} on sm_90a, not 3
// CHECK-LABEL: sm.kernel @warps
module attributes {exec.target = #hopper, exec.hints = ["warps=3"]} {
func.func @main(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = exec.fusion "warps" (%a, %b) : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>, %1: tensor<4096x4096xf16>):
    %c = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {exec.hint = "warps=3"} : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    exec.yield %c : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}
}

// -----

/// f64 has no matrix instruction here.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// WHY: warning: hint 'tile=128x128' is refused: its kernel multiplies without matrix instructions
// CHECK: exec.hints = []
// CHECK-LABEL: tile.kernel @plain
module attributes {exec.target = #hopper, exec.hints = ["tile=128x128"]} {
func.func @main(%a: tensor<4096x4096xf64>, %b: tensor<4096x4096xf64>) -> tensor<4096x4096xf64> {
  %r = exec.fusion "plain" (%a, %b) : (tensor<4096x4096xf64>, tensor<4096x4096xf64>) -> tensor<4096x4096xf64> {
  ^bb0(%0: tensor<4096x4096xf64>, %1: tensor<4096x4096xf64>):
    %c = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {exec.hint = "tile=128x128"} : (tensor<4096x4096xf64>, tensor<4096x4096xf64>) -> tensor<4096x4096xf64>
    exec.yield %c : tensor<4096x4096xf64>
  }
  return %r : tensor<4096x4096xf64>
}
}
