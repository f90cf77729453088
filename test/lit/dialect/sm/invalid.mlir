// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

// expected-error@below {{layout maps two indices to the same position: on axis lane the digit 2 with stride 2 overlaps the digit 4 with stride 1}}
#overlap = #sm.layout<[2 lane:2] [4 lane]>

// -----

// expected-error@below {{layout expects an axis (reg, lane, warp, group, cta, offset, tmem_lane, tmem_col), got 'bank'}}
#axis = #sm.layout<[2 bank]>

// -----

// expected-error@below {{layout has a flip that uses bit 1 of axis offset, which is not a bit of a single digit of an index}}
#flip = #sm.layout<[3 offset:2] [2 offset] xor [offset 1 to offset 0]>

// -----

// expected-error@below {{layout flips bit 1 of axis offset, which itself flips other bits}}
#chain = #sm.layout<[8 offset] xor [offset 2 to offset 1, offset 1 to offset 0]>

// -----

// expected-error@below {{a layout must have as many dimensions as its tile, got 1 for a tile of rank 2}}
func.func private @rank(tensor<4x4xf32, #sm.layout<[4 lane]>>)

// -----

// expected-error@below {{a layout must cover all 5 elements of dimension 0, but this one covers 4}}
func.func private @cover(tensor<5xf32, #sm.layout<[4 lane]>>)

// -----

// expected-error@below {{expects at least 1 warp, got 0}}
sm.kernel @warps grid [] inputs 0 warps 0 {
}

// -----

// expected-error@below {{expects a cluster of three sizes, each at least 1, got [2]}}
sm.kernel @cluster grid [] inputs 0 warps 4 cluster [2] {
}

// -----

sm.kernel @bare grid [] inputs 1 warps 1 {
^bb0(%x: memref<32xf32>, %out: memref<32xf32>):
  %zero = arith.constant 0 : index
  // expected-error@below {{expects all tiles in an sm.kernel to have a layout, got 'tensor<32xf32>'}}
  %t = tile.load %x[%zero] : memref<32xf32> -> tensor<32xf32>
}

// -----

sm.kernel @warp_count grid [] inputs 1 warps 4 {
^bb0(%x: memref<32xf32>, %out: memref<32xf32>):
  %zero = arith.constant 0 : index
  // expected-error@below {{has a layout for 1 warps in a kernel of 4 warps}}
  %t = tile.load %x[%zero] : memref<32xf32> -> tensor<32xf32, #sm.layout<[32 lane]>>
}

// -----

sm.kernel @gaps grid [] inputs 1 warps 1 {
^bb0(%x: memref<16xf32>, %out: memref<16xf32>):
  %zero = arith.constant 0 : index
  // expected-error@below {{has a layout that leaves some of the 31 positions on axis lane unused; replicate elements to fill them}}
  %t = tile.load %x[%zero] : memref<16xf32> -> tensor<16xf32, #sm.layout<[16 lane:2]>>
}

// -----

sm.kernel @memory grid [] inputs 1 warps 1 {
^bb0(%x: memref<32xf32>, %out: memref<32xf32>):
  %zero = arith.constant 0 : index
  // expected-error@below {{expects a layout of registers, got a layout with axis offset}}
  %t = tile.load %x[%zero] : memref<32xf32> -> tensor<32xf32, #sm.layout<[32 offset]>>
}

// -----

#a = #sm.layout<[32 lane, 2 reg]>
#b = #sm.layout<[2 reg, 32 lane]>
sm.kernel @map grid [] inputs 1 warps 1 {
^bb0(%x: memref<64xf32>, %out: memref<64xf32>):
  %zero = arith.constant 0 : index
  %t = tile.load %x[%zero] : memref<64xf32> -> tensor<64xf32, #a>
  // expected-error@below {{expects the same layout for all tiles}}
  %m = tile.map(%t) : (tensor<64xf32, #a>) -> tensor<64xf32, #b> {
  ^bb0(%e: f32):
    tile.yield %e : f32
  }
}

// -----

#a = #sm.layout<[8 reg] [32 lane]>
#b = #sm.layout<[8 reg, 4 lane:8] [8 lane]>
sm.kernel @view grid [] inputs 1 warps 1 {
^bb0(%x: memref<8x32xf32>, %out: memref<32x8xf32>):
  %zero = arith.constant 0 : index
  %t = tile.load %x[%zero, %zero] : memref<8x32xf32> -> tensor<8x32xf32, #a>
  // expected-error@below {{moves elements between threads}}
  %v = tile.view %t affine_map<(i, j) -> (j, i)> : tensor<8x32xf32, #a> -> tensor<32x8xf32, #b>
}

// -----

#a = #sm.layout<[8 reg] [32 lane]>
#b = #sm.layout<[8 lane] copies [4 lane:8]>
sm.kernel @reduce grid [] inputs 1 warps 1 {
^bb0(%x: memref<8x32xf32>, %out: memref<8xf32>):
  %zero = arith.constant 0 : index
  %low = arith.constant 0.0 : f32
  %t = tile.load %x[%zero, %zero] : memref<8x32xf32> -> tensor<8x32xf32, #a>
  // expected-error@below {{expects results to have the inputs' layout with dimensions [1] removed, [8 reg] copies [32 lane], got [8 lane] copies [4 lane:8]}}
  %s = tile.reduce %t init %low : f32 dims [1] : tensor<8x32xf32, #a> -> tensor<8xf32, #b> {
  ^bb0(%e: f32, %f: f32):
    %g = arith.addf %e, %f : f32
    tile.yield %g : f32
  }
}

// -----

func.func @convert(%x: tensor<32xf32, #sm.layout<[32 lane]>>) {
  // expected-error@below {{must change only the layout}}
  %y = sm.convert %x : tensor<32xf32, #sm.layout<[32 lane]>> -> tensor<32xf16, #sm.layout<[32 lane]>>
  return
}

// -----

func.func @convert_map(%x: tensor<32xf32, #sm.layout<[32 lane]>>) {
  // expected-error@below {{expects a map from 1 dimensions to 1 indices, without symbols}}
  %y = sm.convert %x map affine_map<(i, j) -> (i)> : tensor<32xf32, #sm.layout<[32 lane]>> -> tensor<32xf32, #sm.layout<[32 lane]>>
  return
}
