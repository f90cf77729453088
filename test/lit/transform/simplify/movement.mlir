// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(simplify-canonicalize))' | FileCheck %s

// CHECK-LABEL: func @there_and_back
//  CHECK-NEXT:   return %arg0, %arg0, %arg0
func.func @there_and_back(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %3 = stablehlo.reshape %2 : (tensor<6xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  %5 = stablehlo.reverse %4, dims = [1] : tensor<2x3xf32>
  %6 = stablehlo.reverse %5, dims = [0] : tensor<2x3xf32>
  return %1, %3, %6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

/// keepdims and what it is for: one broadcast.

// CHECK-LABEL: func @keepdims
//  CHECK-NEXT:   %[[B:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
//  CHECK-NEXT:   return %[[B]]
func.func @keepdims(%x: tensor<4xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func @slices
//  CHECK-NEXT:   %[[S:.*]] = stablehlo.slice %arg0 [3:8:2]
//  CHECK-NEXT:   return %[[S]], %arg0
func.func @slices(%x: tensor<10xf32>) -> (tensor<3xf32>, tensor<10xf32>) {
  %0 = stablehlo.slice %x [1:10] : (tensor<10xf32>) -> tensor<9xf32>
  %1 = stablehlo.slice %0 [2:7:2] : (tensor<9xf32>) -> tensor<3xf32>
  %2 = stablehlo.slice %x [0:4] : (tensor<10xf32>) -> tensor<4xf32>
  %3 = stablehlo.slice %x [4:10] : (tensor<10xf32>) -> tensor<6xf32>
  %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<4xf32>, tensor<6xf32>) -> tensor<10xf32>
  return %1, %4 : tensor<3xf32>, tensor<10xf32>
}

/// A gather of one window, and at positions that count.

// CHECK-LABEL: func @gathers
//   CHECK-DAG:   stablehlo.dynamic_slice %arg0
//   CHECK-DAG:   stablehlo.slice %arg0 [2:7:2, 0:4]
func.func @gathers(%x: tensor<8x4xf32>, %i: tensor<1xi32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0],
      collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<8x4xf32>, tensor<1xi32>) -> tensor<4xf32>
  %j = stablehlo.constant dense<[[2], [4], [6]]> : tensor<3x1xi32>
  %1 = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<4xf32>, tensor<3x4xf32>
}

/// A part of a splat is a splat, wherever it starts.

// CHECK-LABEL: func @part_of_a_splat
//  CHECK-NEXT:   %[[C:.*]] = stablehlo.constant dense<true> : tensor<3xi1>
//  CHECK-NEXT:   return %[[C]]
func.func @part_of_a_splat(%i: tensor<i32>) -> tensor<3xi1> {
  %0 = stablehlo.constant dense<true> : tensor<8xi1>
  %1 = stablehlo.dynamic_slice %0, %i, sizes = [3] : (tensor<8xi1>, tensor<i32>) -> tensor<3xi1>
  return %1 : tensor<3xi1>
}

/// Transposes become dimension numbers.

// CHECK-LABEL: func @products
//  CHECK-NEXT:   %[[D:.*]] = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
//  CHECK-NEXT:   return %[[D]]
func.func @products(%a: tensor<4x3xf32>, %b: tensor<5x4xf32>) -> tensor<5x3xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
  return %3 : tensor<5x3xf32>
}

/// A dimension of size 1 needs no sum.

// CHECK-LABEL: func @reduce_of_one
//  CHECK-NEXT:   %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<4x1xf32>) -> tensor<4xf32>
//  CHECK-NEXT:   return %[[R]]
func.func @reduce_of_one(%x: tensor<4x1xf32>) -> tensor<4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

/// A dimension of size 1 is sorted. A negative one is counted from the end.

// CHECK-LABEL: func @sort_of_one
//  CHECK-NEXT:   return %arg0, %arg1
func.func @sort_of_one(%x: tensor<4x1xf32>, %y: tensor<4x1xi32>) -> (tensor<4x1xf32>, tensor<4x1xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %gt = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %gt : tensor<i1>
  }) : (tensor<4x1xf32>, tensor<4x1xi32>) -> (tensor<4x1xf32>, tensor<4x1xi32>)
  return %0#0, %0#1 : tensor<4x1xf32>, tensor<4x1xi32>
}

// CHECK-LABEL: func @sort_of_one_from_end
//  CHECK-NEXT:   return %arg0, %arg1
func.func @sort_of_one_from_end(%x: tensor<4x1xf32>, %y: tensor<4x1xi32>) -> (tensor<4x1xf32>, tensor<4x1xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %gt = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %gt : tensor<i1>
  }) : (tensor<4x1xf32>, tensor<4x1xi32>) -> (tensor<4x1xf32>, tensor<4x1xi32>)
  return %0#0, %0#1 : tensor<4x1xf32>, tensor<4x1xi32>
}

// CHECK-LABEL: func @sort_of_several_from_end
//       CHECK:   dimension = -2 : i64
func.func @sort_of_several_from_end(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = -2 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %gt = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %gt : tensor<i1>
  }) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

/// The stride of one element may be any number.

// CHECK-LABEL: func @huge_stride
//  CHECK-NEXT:   %[[ONE:.*]] = stablehlo.slice %arg0 [2:3] : (tensor<4xf32>) -> tensor<1xf32>
//  CHECK-NEXT:   return %[[ONE]]
func.func @huge_stride(%x: tensor<4xf32>) -> tensor<1xf32> {
  %0 = stablehlo.slice %x [0:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = stablehlo.slice %0 [1:2:9223372036854775807] : (tensor<2xf32>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

/// A product keeps the user's hint when a transpose of an operand becomes part of it.

// CHECK-LABEL: func @hinted
//  CHECK-NEXT:   stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] {{.*}}{exec.hint = "tile=64x64"}
func.func @hinted(%x: tensor<8x4xf32>, %y: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = stablehlo.dot_general %t, %y, contracting_dims = [1] x [0] {exec.hint = "tile=64x64"} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
