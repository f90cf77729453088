// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// A SAME convolution over a sharded dimension: one row from each neighbour, zeros at the edges.

// CHECK-LABEL: module @convolution
//   CHECK-NOT:   all_gather
//   CHECK-DAG:   %[[LAST:.*]] = stablehlo.slice %arg0 [0:1, 15:16, 0:8, 0:4]
//   CHECK-DAG:   %[[LEFT:.*]] = "stablehlo.collective_permute"(%[[LAST]]) {{.*}} dense<{{\[\[}}0, 1], [1, 2], [2, 3]]> {{.*}} -> tensor<1x1x8x4xf32>
//   CHECK-DAG:   %[[FIRST:.*]] = stablehlo.slice %arg0 [0:1, 0:1, 0:8, 0:4]
//   CHECK-DAG:   %[[RIGHT:.*]] = "stablehlo.collective_permute"(%[[FIRST]]) {{.*}} dense<{{\[\[}}1, 0], [2, 1], [3, 2]]> {{.*}} -> tensor<1x1x8x4xf32>
//       CHECK:   %[[ROWS:.*]] = stablehlo.concatenate %[[LEFT]], %arg0, %[[RIGHT]], dim = 1
//   CHECK-NOT:   collective_permute
//   CHECK-NOT:   select
//       CHECK:   stablehlo.convolution(%[[ROWS]], %arg1) {{.*}}pad = {{\[\[}}0, 0], [1, 1]]
module @convolution attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<1x64x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}, %k: tensor<3x3x4x5xf32>) -> (tensor<1x64x8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x8x4xf32>, tensor<3x3x4x5xf32>) -> tensor<1x64x8x5xf32>
    return %0 : tensor<1x64x8x5xf32>
  }
}

// -----

/// Its gradient with respect to the kernel slides an image over an image: each device sums over its
/// rows of both.

// CHECK-LABEL: module @kernel_gradient
//   CHECK-NOT:   all_gather
//       CHECK:   collective_permute{{.*}} -> tensor<4x1x8x1xf32>
//       CHECK:   collective_permute{{.*}} -> tensor<4x1x8x1xf32>
//       CHECK:   stablehlo.convolution({{.*}} : (tensor<4x18x8x1xf32>, tensor<16x8x1x5xf32>) -> tensor<4x3x3x5xf32>
//       CHECK:   all_reduce
module @kernel_gradient attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<4x64x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}, %y: tensor<64x8x1x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>}) -> tensor<4x3x3x5xf32> {
    %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x64x8x1xf32>, tensor<64x8x1x5xf32>) -> tensor<4x3x3x5xf32>
    return %0 : tensor<4x3x3x5xf32>
  }
}

// -----

/// Groups of features stay together: a depthwise convolution needs nothing from other devices.

// CHECK-LABEL: module @groups
//   CHECK-NOT:   collective_permute
//   CHECK-NOT:   all_
//       CHECK:   stablehlo.convolution({{.*}}feature_group_count = 2 : i64} : (tensor<1x16x2xf32>, tensor<3x1x2xf32>) -> tensor<1x14x2xf32>
module @groups attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<1x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}, %k: tensor<3x1x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}) -> (tensor<1x14x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}) {
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<1x16x8xf32>, tensor<3x1x8xf32>) -> tensor<1x14x8xf32>
    return %0 : tensor<1x14x8xf32>
  }
}

// -----

/// Rows 3 to 35 of 64: the devices need at most 8 and 5 rows of others.

// CHECK-LABEL: module @slice
//   CHECK-NOT:   all_gather
//       CHECK:   "stablehlo.collective_permute"{{.*}} -> tensor<8x6xf32>
//       CHECK:   "stablehlo.collective_permute"{{.*}} -> tensor<5x6xf32>
//   CHECK-NOT:   collective_permute
module @slice attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<32x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.slice %x [3:35, 0:6] : (tensor<64x6xf32>) -> tensor<32x6xf32>
    return %0 : tensor<32x6xf32>
  }
}

// -----

/// A stride that divides the shards needs no rows of others; the last row alone is a sum.

// CHECK-LABEL: module @strided
//   CHECK-NOT:   collective_permute
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.slice %arg0 [1:16:2, 0:6] : (tensor<16x6xf32>) -> tensor<8x6xf32>
//       CHECK:   stablehlo.slice %arg0 [15:16, 0:6] : (tensor<16x6xf32>) -> tensor<1x6xf32>
//       CHECK:   stablehlo.constant dense<-0.000000e+00>
//       CHECK:   all_reduce
//   CHECK-NOT:   collective_permute
module @strided attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<32x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<1x6xf32>) {
    %0 = stablehlo.slice %x [1:64:2, 0:6] : (tensor<64x6xf32>) -> tensor<32x6xf32>
    %1 = stablehlo.slice %x [63:64, 0:6] : (tensor<64x6xf32>) -> tensor<1x6xf32>
    return %0, %1 : tensor<32x6xf32>, tensor<1x6xf32>
  }
}

// -----

/// Two permutes for a concatenate of two, one for a reverse; pads send the rows that cross shards.

// CHECK-LABEL: module @movement
//   CHECK-NOT:   all_gather
//       CHECK:   "stablehlo.collective_permute"{{.*}} -> tensor<16x6xf32>
//       CHECK:   "stablehlo.collective_permute"{{.*}} -> tensor<16x6xf32>
//   CHECK-NOT:   collective_permute
//       CHECK:   stablehlo.gather
//       CHECK:   "stablehlo.collective_permute"(%arg0) {{.*}} dense<{{\[\[}}3, 0], [2, 1], [1, 2], [0, 3]]>
//       CHECK:   stablehlo.reverse
//       CHECK:   "stablehlo.collective_permute"{{.*}} -> tensor<2x6xf32>
//   CHECK-NOT:   collective_permute
module @movement attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<128x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<72x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<64x6xf32>, tensor<64x6xf32>) -> tensor<128x6xf32>
    %1 = stablehlo.reverse %x, dims = [0] : tensor<64x6xf32>
    %value = stablehlo.constant dense<1.0> : tensor<f32>
    %2 = stablehlo.pad %x, %value, low = [4, 0], high = [4, 0], interior = [0, 0] : (tensor<64x6xf32>, tensor<f32>) -> tensor<72x6xf32>
    return %0, %1, %2 : tensor<128x6xf32>, tensor<64x6xf32>, tensor<72x6xf32>
  }
}

// -----

/// Ops over batches need nothing.

// CHECK-LABEL: module @batches
//   CHECK-NOT:   all_
//   CHECK-NOT:   collective_permute
//       CHECK:   stablehlo.fft
//       CHECK:   stablehlo.cholesky
module @batches attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x16xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<8x16xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
    %0 = stablehlo.fft %x, type = FFT, length = [16] : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>
    %1 = stablehlo.cholesky %y, lower = true : tensor<8x4x4xf32>
    return %0, %1 : tensor<8x16xcomplex<f32>>, tensor<8x4x4xf32>
  }
}

// -----

/// What jnp.roll(x, 3) becomes: three rows travel in one permute.

// CHECK-LABEL: module @roll
//   CHECK-NOT:   all_gather
//       CHECK:   %[[LAST:.*]] = stablehlo.slice %arg0 [13:16, 0:6]
//       CHECK:   %[[LEFT:.*]] = "stablehlo.collective_permute"(%[[LAST]])
//       CHECK:   %[[REST:.*]] = stablehlo.slice %arg0 [0:13, 0:6]
//       CHECK:   stablehlo.concatenate %[[LEFT]], %[[REST]], dim = 0
//   CHECK-NOT:   collective_permute
/// Along a dimension that is not sharded, it is as before.
//       CHECK:   stablehlo.slice %arg0 [0:16, 5:6]
//       CHECK:   stablehlo.slice %arg0 [0:16, 0:5]
//       CHECK:   stablehlo.concatenate {{.*}}, dim = 1
//   CHECK-NOT:   custom_call
module @roll attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.slice %x [61:64, 0:6] : (tensor<64x6xf32>) -> tensor<3x6xf32>
    %1 = stablehlo.slice %x [0:61, 0:6] : (tensor<64x6xf32>) -> tensor<61x6xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3x6xf32>, tensor<61x6xf32>) -> tensor<64x6xf32>
    %3 = stablehlo.slice %x [0:64, 5:6] : (tensor<64x6xf32>) -> tensor<64x1xf32>
    %4 = stablehlo.slice %x [0:64, 0:5] : (tensor<64x6xf32>) -> tensor<64x5xf32>
    %5 = stablehlo.concatenate %3, %4, dim = 1 : (tensor<64x1xf32>, tensor<64x5xf32>) -> tensor<64x6xf32>
    return %2, %5 : tensor<64x6xf32>, tensor<64x6xf32>
  }
}

// -----

/// Random bits whose shards are wanted: each device begins at its own counter.

// CHECK-LABEL: module @random
//   CHECK-NOT:   all_
//       CHECK:   %[[STATE:.*]] = stablehlo.concatenate {{.*}} -> tensor<3xui64>
//       CHECK:   stablehlo.rng_bit_generator %[[STATE]], algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2x8xui32>)
module @random attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<8x8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x8xui32>)
    return %0, %1 : tensor<2xui64>, tensor<8x8xui32>
  }
}

// -----

/// Three rows, of which one device holds two and the other one: each sends what the other lacks, two rows at most. A sum would send three.

// CHECK-LABEL: module @odd_slice_of_two
//   CHECK-NOT:   all_reduce
//       CHECK:   "stablehlo.collective_permute"{{.*}} dense<{{\[\[}}1, 0], [0, 1]]> {{.*}} -> tensor<2x4xf32>
//   CHECK-NOT:   collective_permute
//   CHECK-NOT:   all_
//       CHECK:   return {{.*}} : tensor<3x4xf32>
module @odd_slice_of_two attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.slice %x [1:4, 2:6] : (tensor<6x8xf32>) -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
}

// -----

/// If one device holds all three rows, a sum sends no more.

// CHECK-LABEL: module @negative_odd_slice_of_one
//   CHECK-NOT:   collective_permute
//       CHECK:   all_reduce
module @negative_odd_slice_of_one attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.slice %x [2:5, 2:6] : (tensor<12x8xf32>) -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
}

// -----

/// Five rows cannot be divided by four: each device gives those that it holds, and zeros for the others.

// CHECK-LABEL: module @odd_slice
//   CHECK-NOT:   "stablehlo.all_gather"
//       CHECK:   stablehlo.pad {{.*}} low = [9, 0], high = [5, 0]
//       CHECK:   %[[ROWS:.*]] = stablehlo.slice {{.*}} [0:9:2, 0:6] : (tensor<9x6xf32>) -> tensor<5x6xf32>
//       CHECK:   "stablehlo.all_reduce"(%[[ROWS]])
module @odd_slice attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<5x6xf32> {
    %0 = stablehlo.slice %x [12:21:2, 0:6] : (tensor<64x6xf32>) -> tensor<5x6xf32>
    return %0 : tensor<5x6xf32>
  }
}

// -----

/// A concatenation of empty slices has no rows.

// CHECK-LABEL: module @empty_slices
//       CHECK:   stablehlo.concatenate {{.*}} -> tensor<0x{{.*}}xf32>
module @empty_slices attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<0x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<0x8xf32> {
    %0 = stablehlo.slice %x [0:0, 0:8] : (tensor<0x8xf32>) -> tensor<0x8xf32>
    %1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<0x8xf32>, tensor<0x8xf32>) -> tensor<0x8xf32>
    return %1 : tensor<0x8xf32>
  }
}

// -----

/// A slice that is concatenated with itself is erased once; a sanitizer sees more.

// CHECK-LABEL: module @slice_twice
//   CHECK-NOT:   all_gather
//       CHECK:   collective_permute
module @slice_twice attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<64x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.slice %x [8:40, 0:6] : (tensor<64x6xf32>) -> tensor<32x6xf32>
    %1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<32x6xf32>, tensor<32x6xf32>) -> tensor<64x6xf32>
    return %1 : tensor<64x6xf32>
  }
}
