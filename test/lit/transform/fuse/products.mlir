// RUN: tilewright-opt %s --mlir-disable-threading --fuse --fuse-print --split-input-file -o /dev/null | FileCheck %s

// What a product reads, and what goes on with its elements, is in its kernel.

module attributes {exec.target = #exec.target<gpu = <>>} {
// CHECK-LABEL: @bias
// CHECK-NEXT: 1 x convert_dot_general_add_tanh: 5 ops a product with an epilogue
func.func @bias(%x: tensor<64x32xf16>, %q: tensor<32x16xi8>, %b: tensor<16xf16>) -> tensor<64x16xf16> {
  %w = stablehlo.convert %q : (tensor<32x16xi8>) -> tensor<32x16xf16>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf16>, tensor<32x16xf16>) -> tensor<64x16xf16>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf16>) -> tensor<64x16xf16>
  %s = stablehlo.add %d, %c : tensor<64x16xf16>
  %t = stablehlo.tanh %s : tensor<64x16xf16>
  return %t : tensor<64x16xf16>
}

// Scales of groups of the contraction come by way of two reshapes, which go in with what they are between.
// CHECK-LABEL: @groups
// CHECK-NEXT: 1 x unpack: {{.*}} for a reader of single bytes
// CHECK-NEXT: 1 x convert_multiply_reshape_dot_general
func.func @groups(%x: tensor<64x512xbf16>, %q: tensor<512x32xi4>, %s: tensor<4x32xbf16>) -> tensor<64x32xf32> {
  %w = stablehlo.convert %q : (tensor<512x32xi4>) -> tensor<512x32xbf16>
  %g = stablehlo.reshape %w : (tensor<512x32xbf16>) -> tensor<4x128x32xbf16>
  %b = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x32xbf16>) -> tensor<4x128x32xbf16>
  %m = stablehlo.multiply %g, %b : tensor<4x128x32xbf16>
  %f = stablehlo.reshape %m : (tensor<4x128x32xbf16>) -> tensor<512x32xbf16>
  %d = stablehlo.dot_general %x, %f, contracting_dims = [1] x [0] : (tensor<64x512xbf16>, tensor<512x32xbf16>) -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}

// Groups of 16 would leave a product's tile 16 deep.
// CHECK-LABEL: @negative_small_groups
// CHECK-DAG: 1 x convert_multiply
// CHECK-DAG: 1 x dot_general: 1 op an op by itself
func.func @negative_small_groups(%x: tensor<64x512xbf16>, %q: tensor<512x32xi4>, %s: tensor<32x32xbf16>) -> tensor<64x32xf32> {
  %w = stablehlo.convert %q : (tensor<512x32xi4>) -> tensor<512x32xbf16>
  %g = stablehlo.reshape %w : (tensor<512x32xbf16>) -> tensor<32x16x32xbf16>
  %b = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<32x32xbf16>) -> tensor<32x16x32xbf16>
  %m = stablehlo.multiply %g, %b : tensor<32x16x32xbf16>
  %f = stablehlo.reshape %m : (tensor<32x16x32xbf16>) -> tensor<512x32xbf16>
  %d = stablehlo.dot_general %x, %f, contracting_dims = [1] x [0] : (tensor<64x512xbf16>, tensor<512x32xbf16>) -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}

// A reduction of the product, an expensive op before it, and a second reader stay outside.
// CHECK-LABEL: @outside
// CHECK-DAG: 1 x exponential
// CHECK-DAG: 1 x dot_general: 1 op an op by itself
// CHECK-DAG: 1 x reduce
func.func @outside(%x: tensor<64x32xf16>, %w: tensor<32x16xf16>) -> (tensor<64xf16>, tensor<64x16xf16>) {
  %z = stablehlo.constant dense<0.0> : tensor<f16>
  %e = stablehlo.exponential %x : tensor<64x32xf16>
  %d = stablehlo.dot_general %e, %w, contracting_dims = [1] x [0] : (tensor<64x32xf16>, tensor<32x16xf16>) -> tensor<64x16xf16>
  %r = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x16xf16>, tensor<f16>) -> tensor<64xf16>
  return %r, %d : tensor<64xf16>, tensor<64x16xf16>
}

// An op that stands alone is a kernel: a GPU has no library.
// CHECK-LABEL: @alone
// CHECK-NEXT: 1 x transpose: 1 op an op by itself
func.func @alone(%x: tensor<64x32xf16>) -> tensor<32x64xf16> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<64x32xf16>) -> tensor<32x64xf16>
  return %t : tensor<32x64xf16>
}
}

// -----

// A kernel with roles has whole rows of up to 256 columns in a tile: what reduces them and goes on with them is in it.
#hopper = #exec.target<gpu = <>, matrix = <unit = wgmma, types = [tf32]>>
module attributes {exec.target = #hopper} {
// CHECK-LABEL: @rows
// CHECK-NEXT: 1 x dot_general_{{.*}} a product with an epilogue
func.func @rows(%x: tensor<64x32xf16>, %w: tensor<32x256xf16>) -> tensor<64x256xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf16>, tensor<32x256xf16>) -> tensor<64x256xf32>
  %e = stablehlo.exponential %d : tensor<64x256xf32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x256xf32>
  %r = stablehlo.divide %e, %b : tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

// Rows of tf32 too, if both operands are contiguous along K.
// CHECK-LABEL: @rows_of_tf32
// CHECK-NEXT: 1 x dot_general_{{.*}} a product with an epilogue
func.func @rows_of_tf32(%x: tensor<64x32xf32>, %w: tensor<256x32xf32>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<256x32xf32>) -> tensor<64x256xf32>
  %s = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}
// CHECK-LABEL: @negative_precise_rows
// CHECK-DAG: 1 x dot_general: 1 op an op by itself
// CHECK-DAG: 1 x reduce
func.func @negative_precise_rows(%x: tensor<64x32xf32>, %w: tensor<256x32xf32>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1], precision = [HIGHEST, DEFAULT] : (tensor<64x32xf32>, tensor<256x32xf32>) -> tensor<64x256xf32>
  %s = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}
// More columns than a tile has, a sum of columns, and rows that the copy engine does not take.
// CHECK-LABEL: @negative_long_rows
// CHECK-DAG: 1 x dot_general: 1 op an op by itself
// CHECK-DAG: 1 x reduce
func.func @negative_long_rows(%x: tensor<64x32xf16>, %w: tensor<32x264xf16>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf16>, tensor<32x264xf16>) -> tensor<64x264xf32>
  %s = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x264xf32>, tensor<f32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// CHECK-LABEL: @negative_columns
// CHECK-DAG: 1 x dot_general: 1 op an op by itself
// CHECK-DAG: 1 x reduce
func.func @negative_columns(%x: tensor<64x32xf16>, %w: tensor<32x64xf16>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf16>, tensor<32x64xf16>) -> tensor<64x64xf32>
  %s = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// CHECK-LABEL: @negative_odd_rows
// CHECK-DAG: 1 x dot_general: 1 op an op by itself
// CHECK-DAG: 1 x reduce
func.func @negative_odd_rows(%x: tensor<64x33xf16>, %w: tensor<33x64xf16>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x33xf16>, tensor<33x64xf16>) -> tensor<64x64xf32>
  %s = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}
}

// -----

module attributes {exec.target = #exec.target<gpu = <>>} {
// A gather computes its indices and continues with its elements; the added dimension of index vectors is no obstacle.
// CHECK-LABEL: @embedding
// CHECK-NEXT: 1 x compare_add_select_reshape_gather_convert_multiply: {{.*}} a gather with an epilogue
func.func @embedding(%t: tensor<50x64xbf16>, %i: tensor<7xi32>, %n: tensor<7xi32>, %s: tensor<7x64xf32>) -> tensor<7x64xf32> {
  %z = stablehlo.constant dense<0> : tensor<7xi32>
  %c = stablehlo.compare LT, %i, %z, SIGNED : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
  %a = stablehlo.add %i, %n : tensor<7xi32>
  %w = stablehlo.select %c, %a, %i : tensor<7xi1>, tensor<7xi32>
  %v = stablehlo.reshape %w : (tensor<7xi32>) -> tensor<7x1xi32>
  %g = "stablehlo.gather"(%t, %v) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>, indices_are_sorted = false}> : (tensor<50x64xbf16>, tensor<7x1xi32>) -> tensor<7x64xbf16>
  %f = stablehlo.convert %g : (tensor<7x64xbf16>) -> tensor<7x64xf32>
  %m = stablehlo.multiply %f, %s : tensor<7x64xf32>
  return %m : tensor<7x64xf32>
}

// The table stays in memory, and the copy engine of a product cannot gather.
// CHECK-LABEL: @negative_table
// CHECK-DAG: 1 x tanh
// CHECK-DAG: 1 x gather: 1 op an op by itself
// CHECK-DAG: 1 x dot_general: 1 op an op by itself
func.func @negative_table(%x: tensor<50x64xbf16>, %i: tensor<7x1xi32>, %w: tensor<64x16xbf16>) -> tensor<7x16xf32> {
  %t = stablehlo.tanh %x : tensor<50x64xbf16>
  %g = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>, indices_are_sorted = false}> : (tensor<50x64xbf16>, tensor<7x1xi32>) -> tensor<7x64xbf16>
  %d = stablehlo.dot_general %g, %w, contracting_dims = [1] x [0] : (tensor<7x64xbf16>, tensor<64x16xbf16>) -> tensor<7x16xf32>
  return %d : tensor<7x16xf32>
}
}

// -----

// On a chip with tensor memory, the threads of an epilogue hold whole rows too.
#blackwell = #exec.target<gpu = <>, matrix = <unit = tcgen05, types = [tf32, i8], tensor_columns = 512>, rates = <f16 = 4096, s8 = 8192>>
module attributes {exec.target = #blackwell} {
// CHECK-LABEL: @rows_of_tensor_memory
// CHECK-NEXT: 1 x dot_general_{{.*}} a product with an epilogue
func.func @rows_of_tensor_memory(%x: tensor<64x32xf16>, %w: tensor<32x256xf16>) -> tensor<64x256xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf16>, tensor<32x256xf16>) -> tensor<64x256xf32>
  %e = stablehlo.exponential %d : tensor<64x256xf32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x256xf32>
  %r = stablehlo.divide %e, %b : tensor<64x256xf32>
  return %r : tensor<64x256xf32>
}

// CHECK-LABEL: @rows_of_s8
// CHECK-NEXT: 1 x dot_general_{{.*}} a product with an epilogue
func.func @rows_of_s8(%x: tensor<64x32xi8>, %w: tensor<256x32xi8>) -> tensor<64xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<64x32xi8>, tensor<256x32xi8>) -> tensor<64x256xi32>
  %s = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x256xi32>, tensor<i32>) -> tensor<64xi32>
  return %s : tensor<64xi32>
}
}

// -----

// This one multiplies s8 with mma.sync.
#ultra = #exec.target<gpu = <>, matrix = <unit = tcgen05, types = [tf32, i8], tensor_columns = 512>, rates = <f16 = 4096, s8 = 64>>
module attributes {exec.target = #ultra} {
// CHECK-LABEL: @negative_rows_of_s8
// CHECK-DAG: 1 x dot_general: 1 op an op by itself
// CHECK-DAG: 1 x reduce
func.func @negative_rows_of_s8(%x: tensor<64x32xi8>, %w: tensor<256x32xi8>) -> tensor<64xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<64x32xi8>, tensor<256x32xi8>) -> tensor<64x256xi32>
  %s = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x256xi32>, tensor<i32>) -> tensor<64xi32>
  return %s : tensor<64xi32>
}
}
