// RUN: tilewright-opt %s --tile-verify --split-input-file --verify-diagnostics

/// A launch may pass a tensor of another shape; ops without a kernel stand alone.
tile.kernel @square grid [4] inputs 1 {
^bb0(%i: index, %x: memref<64xf32>, %out: memref<64xf32>):
  %o = affine.apply affine_map<(i) -> (i * 16)>(%i)
  %t = tile.load %x[%o] : memref<64xf32> -> tensor<16xf32>
  %s = tile.map(%t) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: f32):
    %b = arith.mulf %a, %a : f32
    tile.yield %b : f32
  }
  tile.store %s, %out[%o] : tensor<16xf32>, memref<64xf32>
}
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = exec.launch @square(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.cholesky %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @fusion(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{E2040 tile: 'exec.fusion' is still in the program: each fusion must become a kernel; this is a compiler bug}}
  %0 = exec.fusion "negate" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.negate %a : tensor<8xf32>
    exec.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func private @body(%x: f32) -> f32
func.func @not_a_kernel(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{E2040 tile: 'exec.launch' launches @body, which is not a tile.kernel}}
  %0 = exec.launch @body(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

tile.kernel @copy grid [1] inputs 1 {
^bb0(%i: index, %x: memref<8xf32>, %out: memref<8xf32>):
  %t = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %t, %out[%i] : tensor<8xf32>, memref<8xf32>
}
func.func @count(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{E2040 tile: 'exec.launch' passes 2 inputs and 1 results to @copy, which takes 1 and 1}}
  %0 = exec.launch @copy(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

tile.kernel @copy grid [1] inputs 1 {
^bb0(%i: index, %x: memref<8xf32>, %out: memref<8xf32>):
  %t = tile.load %x[%i] : memref<8xf32> -> tensor<8xf32>
  tile.store %t, %out[%i] : tensor<8xf32>, memref<8xf32>
}
func.func @size(%x: tensor<8xf32>) -> tensor<9xf32> {
  // expected-error @below {{E2040 tile: 'exec.launch' passes 'tensor<9xf32>' to @copy, which takes 'memref<8xf32>' of another size}}
  %0 = exec.launch @copy(%x) : (tensor<8xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----

tile.kernel @dialect grid [1] inputs 0 {
^bb0(%i: index):
  // expected-error @below {{E2040 tile: 'stablehlo.constant' is in a kernel, but no target compiles it there}}
  %c = stablehlo.constant dense<1.0> : tensor<8xf32>
}

// -----

tile.kernel @dynamic grid [1] inputs 0 {
^bb0(%i: index):
  // expected-error @below {{E2040 tile: 'tensor.empty' must compute tiles of static shape, got 'tensor<?xf32>'}}
  %t = tensor.empty(%i) : tensor<?xf32>
}

// -----

tile.kernel @layout grid [1] inputs 1 {
^bb0(%i: index, %x: memref<32xf32>):
  // expected-error @below {{E2040 tile: 'tile.load' must compute tiles without layouts, which a later stage chooses, got 'tensor<32xf32, #sm.layout<[32 lane]>>'}}
  %t = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32, #sm.layout<[32 lane]>>
}
