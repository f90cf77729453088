// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

// expected-error@below {{expects one block argument for each of the 1 coordinates and 2 inputs, got 2}}
tile.kernel @few grid [4] inputs 2 {
^bb0(%i: index, %x: memref<4xf32>):
}

// -----

// expected-error@below {{expects grid sizes that are not negative, got [-1]}}
tile.kernel @negative grid [-1] inputs 1 {
^bb0(%i: index, %x: memref<4xf32>):
}

// -----

// expected-error@below {{expects a coordinate of type 'index' as block argument 0, got 'i32'}}
tile.kernel @coordinate grid [4] inputs 1 {
^bb0(%i: i32, %x: memref<4xf32>):
}

// -----

// expected-error@below {{expects a memref of static shape in row-major order as block argument 1, got 'memref<?xf32>'}}
tile.kernel @dynamic grid [4] inputs 1 {
^bb0(%i: index, %x: memref<?xf32>):
}

// -----

// expected-error@below {{must write its results with tile.store, but its tile.yield has values}}
tile.kernel @yields grid [4] inputs 1 {
^bb0(%i: index, %x: memref<4xf32>):
  tile.yield %i : index
}

// -----

func.func @load(%x: memref<4x4xf32>, %i: index, %p: f16) {
  // expected-error@below {{expects the tile to have the rank of the tensor, 2, got 1}}
  %0 = tile.load %x[%i, %i] : memref<4x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @load(%x: memref<4x4xf32>, %i: index) {
  // expected-error@below {{expects one offset for each of the 2 dimensions, got 1}}
  %0 = tile.load %x[%i] : memref<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @load(%x: memref<4x4xf32>, %i: index) {
  // expected-error@below {{expects nonzero strides}}
  %0 = tile.load %x[%i, %i] strides [1, 0] : memref<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @load(%x: memref<4x4xf32>, %i: index) {
  // expected-error@below {{expects one in_bounds entry for each of the 2 dimensions, got 1}}
  %0 = tile.load %x[%i, %i] in_bounds [true] : memref<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @load(%x: memref<4x4xf32>, %i: index, %p: f16) {
  // expected-error@below {{expects a padding value of type 'f32', got 'f16'}}
  %0 = tile.load %x[%i, %i] padding %p : f16 in_bounds [false, false] : memref<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @store(%x: memref<4xf32>, %i: index, %t: tensor<4xf16>) {
  // expected-error@below {{expects tile and tensor to have the same element type, got 'f16' and 'f32'}}
  tile.store %t, %x[%i] : tensor<4xf16>, memref<4xf32>
  return
}

// -----

func.func @view(%x: tensor<4x8xf32>) {
  // expected-error@below {{expects a map from 1 dimensions to 2 indices, without symbols}}
  %0 = tile.view %x affine_map<(i, j) -> (j, i)> : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @view(%x: tensor<4x8xf32>) {
  // expected-error@below {{must stay inside its source, but index d0 + 1 of dimension 0 can be outside of [0, 4)}}
  %0 = tile.view %x affine_map<(i, j) -> (i + 1, j)> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @map(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  // expected-error@below {{expects tiles of the same shape, got 'tensor<4xf32>' and 'tensor<8xf32>'}}
  %0 = tile.map(%x, %y) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @map(%x: tensor<4xf32>) {
  // expected-error@below {{expects a region that yields ('i1'), got ('f32')}}
  %0 = tile.map(%x) : (tensor<4xf32>) -> tensor<4xi1> {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce(%x: tensor<4x8xf32>, %zero: f32) {
  // expected-error@below {{expects unique dimensions in [0, 2), got [1, 1]}}
  %0 = tile.reduce %x init %zero : f32 dims [1, 1] : tensor<4x8xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce(%x: tensor<4x8xf32>, %zero: f32) {
  // expected-error@below {{expects results of shape [4], the inputs' shape without dims [1], got 'tensor<8xf32>'}}
  %0 = tile.reduce %x init %zero : f32 dims [1] : tensor<4x8xf32> -> tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce(%x: tensor<4x8xf16>, %zero: f32) {
  // expected-error@below {{expects a region with arguments ('f32', 'f16'), got ('f16', 'f16')}}
  %0 = tile.reduce %x init %zero : f32 dims [1] : tensor<4x8xf16> -> tensor<4xf32> {
  ^bb0(%a: f16, %b: f16):
    %c = arith.extf %a : f16 to f32
    tile.yield %c : f32
  }
  return
}

// -----

func.func @scan(%x: tensor<4x8xf32>, %zero: f32) {
  // expected-error@below {{expects a dimension in [0, 2), got 2}}
  %0 = tile.scan %x init %zero : f32 dim 2 : tensor<4x8xf32> -> tensor<4x8xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @sort_dimension(%x: tensor<4x8xf32>) {
  // expected-error@below {{expects a dimension in [0, 2), got 2}}
  %0 = tile.sort %x dim 2 : tensor<4x8xf32> -> tensor<4x8xf32> {
  ^bb0(%a: f32, %b: f32):
    %l = arith.cmpf olt, %a, %b : f32
    tile.yield %l : i1
  }
  return
}

// -----

func.func @sort_results(%x: tensor<4x8xf32>) {
  // expected-error@below {{expects at least one input, and a result for each, got 1 inputs and 2 results}}
  %0:2 = tile.sort %x dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xf32> {
  ^bb0(%a: f32, %b: f32):
    %l = arith.cmpf olt, %a, %b : f32
    tile.yield %l : i1
  }
  return
}

// -----

func.func @sort_types(%x: tensor<4x8xf32>) {
  // expected-error@below {{expects inputs and results of the same shape, each result with its input's element type, got 'tensor<4x8xf32>' and 'tensor<4x8xf16>' beside 'tensor<4x8xf32>'}}
  %0 = tile.sort %x dim 1 : tensor<4x8xf32> -> tensor<4x8xf16> {
  ^bb0(%a: f32, %b: f32):
    %l = arith.cmpf olt, %a, %b : f32
    tile.yield %l : i1
  }
  return
}

// -----

func.func @sort_arguments(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>) {
  // expected-error@below {{expects a region with two elements of each input as arguments, got 'f32', 'i32', 'f32', 'i32'}}
  %0:2 = tile.sort %x, %i dim 1 : tensor<4x8xf32>, tensor<4x8xi32> -> tensor<4x8xf32>, tensor<4x8xi32> {
  ^bb0(%a: f32, %j: i32, %b: f32, %k: i32):
    %l = arith.cmpf olt, %a, %b : f32
    tile.yield %l : i1
  }
  return
}

// -----

func.func @sort_yield(%x: tensor<4x8xf32>) {
  // expected-error@below {{expects a region that yields an i1, got 'f32'}}
  %0 = tile.sort %x dim 1 : tensor<4x8xf32> -> tensor<4x8xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @sort_merge(%x: tensor<4x12xf32>, %m: index) {
  // expected-error@below {{merges along a dimension whose size must be a power of two, got 12}}
  %0 = tile.sort %x merge %m dim 1 : tensor<4x12xf32> -> tensor<4x12xf32> {
  ^bb0(%a: f32, %b: f32):
    %l = arith.cmpf olt, %a, %b : f32
    tile.yield %l : i1
  }
  return
}

// -----

func.func @dot(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) {
  // expected-error@below {{contracts lhs dimension 1 with rhs dimension 0, which must be equal, got 8 and 4}}
  %0 = tile.dot %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @dot(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x8xf32>) {
  // expected-error@below {{expects an accumulator of 4 rows and 4 columns, got 'tensor<4x8xf32>'}}
  %0 = tile.dot %a, %b, %c : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @iota(%o: index) {
  // expected-error@below {{expects a result with integer or index elements, got 'tensor<4xf32>'}}
  %0 = tile.iota %o dim 0 : tensor<4xf32>
  return
}

// -----

func.func @gather(%x: memref<4x4xf32>, %i: tensor<8xindex>) {
  // expected-error@below {{expects one tile of indices for each of the 2 dimensions, got 1}}
  %0 = tile.gather %x at (%i) : memref<4x4xf32>, tensor<8xindex> -> tensor<8xf32>
  return
}

// -----

func.func @gather(%x: memref<4xf32>, %i: tensor<8xi32>) {
  // expected-error@below {{expects indices of type 'index' in the result's shape}}
  %0 = tile.gather %x at (%i) : memref<4xf32>, tensor<8xi32> -> tensor<8xf32>
  return
}

// -----

func.func @scatter(%t: tensor<8xf32>, %x: memref<4x4xf32>, %i: tensor<8xindex>) {
  // expected-error@below {{expects one tile of indices for each of the 2 dimensions, got 1}}
  tile.scatter %t, %x at (%i) : tensor<8xf32>, memref<4x4xf32>, tensor<8xindex>
  return
}

// -----

func.func @scatter(%t: tensor<8xf32>, %x: memref<4xf32>, %i: tensor<4xindex>) {
  // expected-error@below {{expects indices of type 'index' in the tile's shape, got 'tensor<4xindex>' for 'tensor<8xf32>'}}
  tile.scatter %t, %x at (%i) : tensor<8xf32>, memref<4xf32>, tensor<4xindex>
  return
}

// -----

func.func @scatter(%t: tensor<8xf32>, %x: memref<4xi32>, %i: tensor<8xindex>) {
  // expected-error@below {{expects tile and target to have the same element type, got 'f32' and 'i32'}}
  tile.scatter %t, %x at (%i) : tensor<8xf32>, memref<4xi32>, tensor<8xindex>
  return
}

// -----

func.func @window(%t: tensor<2x2xf32>, %x: memref<4x4xf32>, %i: index) {
  // expected-error@below {{expects a window with one size and one origin for each of the 2 dimensions, got 2 sizes and 1 origins}}
  tile.store %t, %x[%i, %i] window [2, 2] at [%i] : tensor<2x2xf32>, memref<4x4xf32>
  return
}

// -----

func.func @window(%t: tensor<2x2xf32>, %x: memref<4x4xf32>, %i: index) {
  // expected-error@below {{has a window of size 5 in dimension 1, but the target has size 4}}
  tile.store %t, %x[%i, %i] window [2, 5] at [%i, %i] : tensor<2x2xf32>, memref<4x4xf32>
  return
}

// -----

// expected-error@below {{expects pairs of an output and an input in 'updates', got 1 entries}}
tile.kernel @updates grid [1] inputs 1 updates [0] {
^bb0(%i: index, %x: memref<4xf32>, %out: memref<4xf32>):
}

// -----

// expected-error@below {{updates output 1 in the memory of input 0, but it has 1 outputs and 1 inputs}}
tile.kernel @updates grid [1] inputs 1 updates [1, 0] {
^bb0(%i: index, %x: memref<4xf32>, %out: memref<4xf32>):
}

// -----

// expected-error@below {{expects an updated output to have the type of its input, got 'memref<2x2xf32>' and 'memref<4xf32>'}}
tile.kernel @updates grid [1] inputs 1 updates [0, 0] {
^bb0(%i: index, %x: memref<4xf32>, %out: memref<2x2xf32>):
}

// -----

// expected-error@below {{reads input 0, whose memory it writes as output 0}}
tile.kernel @updates grid [1] inputs 1 updates [0, 0] {
^bb0(%i: index, %x: memref<4xf32>, %out: memref<4xf32>):
  %t = tile.load %x[%i] : memref<4xf32> -> tensor<4xf32>
  tile.store %t, %out[%i] : tensor<4xf32>, memref<4xf32>
}

// -----

func.func @update_atomic(%x: tensor<4xf32>, %m: memref<4xf32>, %i: tensor<4xindex>) {
  // expected-error@below {{can be atomic only for integers of 32 or 64 bits, got 'f32'}}
  tile.update %x, %m at (%i) atomic : tensor<4xf32>, memref<4xf32>, tensor<4xindex> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  return
}

// -----

func.func @update_combiner(%x: tensor<4xi32>, %m: memref<4xi32>, %i: tensor<4xindex>) {
  // expected-error@below {{expects a single op in the combiner of an atomic update}}
  tile.update %x, %m at (%i) atomic : tensor<4xi32>, memref<4xi32>, tensor<4xindex> {
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %a, %b : i32
    %t = arith.addi %s, %b : i32
    tile.yield %t : i32
  }
  return
}

// -----

func.func @update_indices(%x: tensor<4xi32>, %m: memref<4x4xi32>, %i: tensor<4xindex>) {
  // expected-error@below {{expects one tile of indices for each of the 2 dimensions, got 1}}
  tile.update %x, %m at (%i) : tensor<4xi32>, memref<4x4xi32>, tensor<4xindex> {
  ^bb0(%a: i32, %b: i32):
    tile.yield %b : i32
  }
  return
}

// -----

tile.kernel @carry_state grid [2] inputs 1 updates [0, 0] {
^bb0(%p: index, %old: memref<33xi64>, %state: memref<33xi64>):
  %zero = arith.constant 0 : i32
  %t = tile.iota %p dim 0 : tensor<1xi32>
  // expected-error@below {{expects a state of at least 34 words of 64 bits, got 'memref<33xi64>'}}
  %c = tile.carry %t, %state init %zero : tensor<1xi32>, memref<33xi64>, i32 -> tensor<1xi32> {
  ^bb0(%a: i32, %b: i32):
    tile.yield %b : i32
  }
}

// -----

func.func @carry_floats(%x: tensor<1xf32>, %m: memref<40xi64>, %z: f32) {
  // expected-error@below {{expects integers of up to 64 bits, of 32 bits if narrow, got 'f32'}}
  %c = tile.carry %x, %m init %z : tensor<1xf32>, memref<40xi64>, f32 -> tensor<1xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %b : f32
  }
  return
}

// -----

func.func @carry_epoch(%x: tensor<1xi32>, %m: memref<40xi64>, %z: i32) {
  // expected-error@below {{expects an epoch of at most 6, got 7}}
  %c = tile.carry %x, %m init %z epoch 7 : tensor<1xi32>, memref<40xi64>, i32 -> tensor<1xi32> {
  ^bb0(%a: i32, %b: i32):
    tile.yield %b : i32
  }
  return
}

// -----

func.func @bucket_digits(%x: tensor<2x4xi32>) {
  // expected-error@below {{expects digits and starts of i32 in one row, got 'tensor<2x4xi32>' and 'tensor<1x4xi32>'}}
  %s:2 = tile.bucket %x by %x : (tensor<2x4xi32>), tensor<2x4xi32> -> (tensor<2x4xi32>), tensor<1x4xi32>
  return
}

// -----

func.func @bucket_types(%x: tensor<1x4xi32>) {
  // expected-error@below {{expects inputs and results of the same type, in the shape of the digits, got 'tensor<1x4xi32>' and 'tensor<1x5xi32>' beside 'tensor<1x4xi32>'}}
  %s:2 = tile.bucket %x by %x : (tensor<1x4xi32>), tensor<1x4xi32> -> (tensor<1x5xi32>), tensor<1x4xi32>
  return
}

// -----

func.func @take_indices(%x: tensor<1x4xi32>, %i: tensor<8xi64>) {
  // expected-error@below {{expects a source with one row, indices of i32, and a result in their shape, got 'tensor<1x4xi32>', 'tensor<8xi64>' and 'tensor<8xi32>'}}
  %t = tile.take %x at %i : tensor<1x4xi32>, tensor<8xi64> -> tensor<8xi32>
  return
}
