// RUN: tilewright-opt %s --fuse --split-input-file | FileCheck %s

/// Softmax is one kernel: it reads its rows again after each reduction.

// CHECK-LABEL: func @softmax
//  CHECK-NEXT:   %[[R:.*]] = exec.fusion "reduce_subtract_exponential_divide"(%arg0)
//  CHECK-SAME:     reason = "over 64x128 reduced over [1], 4 joins"
//       CHECK:   return %[[R]]
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %0 = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<64x128xf32>
  %2 = stablehlo.exponential %1 : tensor<64x128xf32>
  %sum = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %4 = stablehlo.divide %2, %3 : tensor<64x128xf32>
  return %4 : tensor<64x128xf32>
}

// -----

/// An expensive value that two kernels need is computed once and stored; a broadcast is
/// copied into both.

// CHECK-LABEL: func @shared
//       CHECK:   %[[A:.*]]:2 = exec.fusion "exponential_add"(%arg0, %arg1)
//       CHECK:     stablehlo.broadcast_in_dim
//       CHECK:   %[[D:.*]] = stablehlo.dot_general %[[A]]#0
//       CHECK:   exec.fusion "multiply"(%[[D]], %arg1)
//       CHECK:     stablehlo.broadcast_in_dim
func.func @shared(%x: tensor<64x64xf32>, %s: tensor<64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %e = stablehlo.exponential %x : tensor<64x64xf32>
  %a = stablehlo.add %e, %b : tensor<64x64xf32>
  %d = stablehlo.dot_general %e, %e, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = stablehlo.multiply %d, %b : tensor<64x64xf32>
  return %a, %m : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

/// Two ops with one that no kernel can hold between them are two kernels:
/// together they would wait for themselves.

// CHECK-LABEL: func @negative_cycle
//       CHECK:   %[[A:.*]] = exec.fusion "tanh"(%arg0)
//       CHECK:   %[[D:.*]] = stablehlo.dot_general %[[A]]
//       CHECK:   exec.fusion "add"(%[[A]], %[[D]])
func.func @negative_cycle(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = stablehlo.tanh %x : tensor<64x64xf32>
  %d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = stablehlo.add %a, %d : tensor<64x64xf32>
  return %b : tensor<64x64xf32>
}

// -----

/// Tensors that are read at the same points are read once.

// CHECK-LABEL: func @siblings
//       CHECK:   %{{.*}}:2 = exec.fusion {{.*}}(%arg0) {reason = "over 64x64 reduced over [1], 1 join (1 because both read the same tensor)"}
//   CHECK-NOT:   exec.fusion
func.func @siblings(%x: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %max, %sum : tensor<64xf32>, tensor<64xf32>
}

// -----

/// Rows and columns of one tensor are two kernels: together nothing could be split.

// CHECK-LABEL: func @negative_rows_and_columns
// CHECK-COUNT-2: exec.fusion "reduce"
func.func @negative_rows_and_columns(%x: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// -----

/// A row's reduction spread over columns is another space.

// CHECK-LABEL: func @negative_spread_otherwise
//       CHECK:   %[[S:.*]] = exec.fusion "reduce"(%arg0)
//       CHECK:   exec.fusion "multiply"(%arg0, %[[S]])
func.func @negative_spread_otherwise(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.multiply %x, %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

/// A movement by itself is the library's, a reshape is no work at all.

// CHECK-LABEL: func @alone
//   CHECK-NOT:   exec.fusion
//       CHECK:   stablehlo.transpose
//       CHECK:   stablehlo.reshape
func.func @alone(%x: tensor<64x32xf32>) -> tensor<2048xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.reshape %0 : (tensor<32x64xf32>) -> tensor<2048xf32>
  return %1 : tensor<2048xf32>
}

// -----

/// The regions of a loop are fused by themselves; constants from outside come along.

// CHECK-LABEL: func @loop
//       CHECK:   stablehlo.while
//       CHECK:     exec.fusion "compare"(%{{.*}})
//       CHECK:     exec.fusion "multiply_add"
func.func @loop(%x: tensor<64xf32>, %n: tensor<i32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<64xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<64xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %p = stablehlo.multiply %v, %half : tensor<64xf32>
    %q = stablehlo.add %p, %half : tensor<64xf32>
    stablehlo.return %next, %q : tensor<i32>, tensor<64xf32>
  }
  return %r#1 : tensor<64xf32>
}

// -----

/// Where a slice is is known before the kernel starts, so its position is not computed inside.

// CHECK-LABEL: func @parameter
//       CHECK:   %[[I:.*]] = exec.fusion "add"(%arg1)
//       CHECK:   exec.fusion "exponential"(%arg0, %[[I]])
//       CHECK:     stablehlo.dynamic_slice
func.func @parameter(%x: tensor<64xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %j, sizes = [8] : (tensor<64xf32>, tensor<i32>) -> tensor<8xf32>
  %1 = stablehlo.exponential %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

/// Composites stand for functions, so no order ties the erf of a kernel to a top_k that waits for that kernel.

// CHECK-LABEL: func @composites
//       CHECK:   %[[F:.*]]:3 = exec.fusion "erf_convert_subtract"
//       CHECK:   stablehlo.composite "chlo.top_k" %[[F]]#
func.func @composites(%x: tensor<16x8xf32>, %y: tensor<16x8xf32>)
    -> (tensor<16x8xf32>, tensor<16x8xf64>, tensor<16x8xf64>, tensor<16x8xf32>) {
  %0 = stablehlo.composite "chlo.erf" %x {decomposition = @erf} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.convert %x : (tensor<16x8xf32>) -> tensor<16x8xf64>
  %2:2 = stablehlo.composite "chlo.top_k" %1 {composite_attributes = {k = 8 : i64}, decomposition = @top_k}
      : (tensor<16x8xf64>) -> (tensor<16x8xf64>, tensor<16x8xi32>)
  %3 = stablehlo.subtract %x, %y : tensor<16x8xf32>
  return %0, %1, %2#0, %3 : tensor<16x8xf32>, tensor<16x8xf64>, tensor<16x8xf64>, tensor<16x8xf32>
}
func.func private @erf(%x: tensor<16x8xf32>) -> tensor<16x8xf32>
func.func private @top_k(%x: tensor<16x8xf64>) -> (tensor<16x8xf64>, tensor<16x8xi32>)

// -----

/// A launch takes longer than one element, so scalars that have nothing to do with each other are computed together.

// CHECK-LABEL: func @scalars
//  CHECK-NEXT:   %[[R:.*]]:2 = exec.fusion "add_multiply"(%arg0, %arg1)
//  CHECK-SAME:     reason = "over a scalar, 1 join"
//       CHECK:   return %[[R]]#0, %[[R]]#1
func.func @scalars(%i: tensor<i32>, %x: tensor<f32>) -> (tensor<i32>, tensor<f32>) {
  %0 = stablehlo.add %i, %i : tensor<i32>
  %1 = stablehlo.multiply %x, %x : tensor<f32>
  return %0, %1 : tensor<i32>, tensor<f32>
}

// -----

/// The second scalar waits for a product that waits for the first.

// CHECK-LABEL: func @negative_scalars_apart
//       CHECK:   exec.fusion "add"
//       CHECK:   stablehlo.dot_general
//       CHECK:   exec.fusion "multiply"
func.func @negative_scalars_apart(%x: tensor<f32>, %a: tensor<4xf32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  %1 = stablehlo.reshape %0 : (tensor<f32>) -> tensor<1xf32>
  %2 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<1x4xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [0] x [0] : (tensor<1xf32>, tensor<1x4xf32>) -> tensor<4xf32>
  %4 = stablehlo.dot_general %3, %a, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %5 = stablehlo.multiply %4, %x : tensor<f32>
  return %5 : tensor<f32>
}

// -----

/// Each sum reads the one before at two places. A kernel computes three of them, so that the first
/// is computed four times for each element, not eight.

// CHECK-LABEL: func @doubling
//       CHECK:   %[[A:.*]] = exec.fusion "add"(%arg0)
//   CHECK-NOT:   exec.fusion
// CHECK-COUNT-3: stablehlo.add
//       CHECK:   exec.fusion "add"(%[[A]])
func.func @doubling(%x: tensor<100xf32>) -> tensor<85xf32> {
  %0 = stablehlo.slice %x [0:99] : (tensor<100xf32>) -> tensor<99xf32>
  %1 = stablehlo.slice %x [1:100] : (tensor<100xf32>) -> tensor<99xf32>
  %2 = stablehlo.add %0, %1 : tensor<99xf32>
  %3 = stablehlo.slice %2 [0:97] : (tensor<99xf32>) -> tensor<97xf32>
  %4 = stablehlo.slice %2 [2:99] : (tensor<99xf32>) -> tensor<97xf32>
  %5 = stablehlo.add %3, %4 : tensor<97xf32>
  %6 = stablehlo.slice %5 [0:93] : (tensor<97xf32>) -> tensor<93xf32>
  %7 = stablehlo.slice %5 [4:97] : (tensor<97xf32>) -> tensor<93xf32>
  %8 = stablehlo.add %6, %7 : tensor<93xf32>
  %9 = stablehlo.slice %8 [0:85] : (tensor<93xf32>) -> tensor<85xf32>
  %10 = stablehlo.slice %8 [8:93] : (tensor<93xf32>) -> tensor<85xf32>
  %11 = stablehlo.add %9, %10 : tensor<85xf32>
  return %11 : tensor<85xf32>
}

// -----

/// A gather of rows is one kernel with the ops that compute its indices, the mask of rows outside of the table, which is made of the same
/// indices, and what reads its elements.

// CHECK-LABEL: func @gather
//  CHECK-NEXT:   %[[R:.*]] = exec.fusion "{{.*}}"(%arg1, %arg0, %arg2)
//       CHECK:     stablehlo.compare
//       CHECK:     "stablehlo.gather"
//       CHECK:     stablehlo.select
//       CHECK:   return %[[R]]
func.func @gather(%table: tensor<100x64xf32>, %i: tensor<32xi32>, %p: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %n = stablehlo.constant dense<100> : tensor<32xi32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<32x64xf32>
  %m = stablehlo.add %i, %n : tensor<32xi32>
  %in = stablehlo.compare LT, %m, %n, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
  %v = stablehlo.reshape %m : (tensor<32xi32>) -> tensor<32x1xi32>
  %g = "stablehlo.gather"(%table, %v) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<100x64xf32>, tensor<32x1xi32>) -> tensor<32x64xf32>
  %b = stablehlo.broadcast_in_dim %in, dims = [0] : (tensor<32xi1>) -> tensor<32x64xi1>
  %s = stablehlo.select %b, %g, %nan : tensor<32x64xi1>, tensor<32x64xf32>
  %r = stablehlo.add %s, %p : tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

/// Single elements are read at the points that the kernel computes, so the indices may also be a result.

// CHECK-LABEL: func @gather_elements
//  CHECK-NEXT:   %[[R:.*]]:2 = exec.fusion "add_gather_multiply"
//       CHECK:   return %[[R]]#1, %[[R]]#0
func.func @gather_elements(%table: tensor<100xcomplex<f32>>, %i: tensor<32xi32>) -> (tensor<32xcomplex<f32>>, tensor<32xi32>) {
  %m = stablehlo.add %i, %i : tensor<32xi32>
  %v = stablehlo.reshape %m : (tensor<32xi32>) -> tensor<32x1xi32>
  %g = "stablehlo.gather"(%table, %v) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<100xcomplex<f32>>, tensor<32x1xi32>) -> tensor<32xcomplex<f32>>
  %s = stablehlo.multiply %g, %g : tensor<32xcomplex<f32>>
  return %s, %m : tensor<32xcomplex<f32>>, tensor<32xi32>
}

// -----

/// Left to the library: a gather by itself, one whose rows another order would read, and columns. A table that a kernel
/// computes is complete before any element is gathered.

// CHECK-LABEL: func @negative_gathers
//       CHECK:   exec.fusion "tanh"(%arg0)
//       CHECK:   "stablehlo.gather"
//       CHECK:   "stablehlo.gather"
//       CHECK:   exec.fusion "negate"
func.func @negative_gathers(%table: tensor<64x100xf32>, %i: tensor<32x1xi32>) -> (tensor<32x100xf32>, tensor<64x32xf32>) {
  %t = stablehlo.tanh %table : tensor<64x100xf32>
  %g = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 100>}> : (tensor<64x100xf32>, tensor<32x1xi32>) -> tensor<32x100xf32>
  %c = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 64, 1>}> : (tensor<64x100xf32>, tensor<32x1xi32>) -> tensor<64x32xf32>
  %n = stablehlo.negate %c : tensor<64x32xf32>
  return %g, %n : tensor<32x100xf32>, tensor<64x32xf32>
}

// -----

/// Two kernels read the conversion of a sum and none the sum itself, so the sum's kernel converts it: 2 bytes an element
/// are stored and loaded instead of 4.

// CHECK-LABEL: func @narrow
//  CHECK-NEXT:   %[[A:.*]] = exec.fusion "reduce_add_convert"(%arg0) {{.*}} -> tensor<64x64xbf16>
//       CHECK:   exec.fusion "reduce"(%[[A]])
//       CHECK:   exec.fusion "reduce"(%[[A]])
func.func @narrow(%x: tensor<4x64x64xf32>) -> (tensor<64xbf16>, tensor<64xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %none) applies stablehlo.add across dimensions = [0] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %0, %0 : tensor<64x64xf32>
  %2 = stablehlo.convert %1 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  %4 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  return %3, %4 : tensor<64xbf16>, tensor<64xbf16>
}

// -----

/// The sum is in memory anyway, and only one other kernel reads its conversion.

// CHECK-LABEL: func @negative_narrow
//       CHECK:   %[[A:.*]] = exec.fusion "reduce_add"(%arg0) {{.*}} -> tensor<64x64xf32>
//       CHECK:   exec.fusion "convert_reduce"(%[[A]])
func.func @negative_narrow(%x: tensor<4x64x64xf32>) -> (tensor<64x64xf32>, tensor<64xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %none) applies stablehlo.add across dimensions = [0] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %0, %0 : tensor<64x64xf32>
  %2 = stablehlo.convert %1 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  return %1, %3 : tensor<64x64xf32>, tensor<64xbf16>
}
