// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(simplify-canonicalize,cse))' | FileCheck %s

/// Elements below a byte have a byte each in memory, so a bitcast to them is shifts and masks.

// CHECK-LABEL: func @unpack
//   CHECK-NOT:   (tensor<4xui8>) -> tensor<4x2xi4>
//       CHECK:   %[[SPREAD:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<4xui8>) -> tensor<4x2xui8>
//       CHECK:   %[[SHIFTED:.*]] = stablehlo.shift_right_logical %[[SPREAD]]
//       CHECK:   %[[LOW:.*]] = stablehlo.and %[[SHIFTED]]
//       CHECK:   %[[NUMBER:.*]] = stablehlo.convert %[[LOW]] : (tensor<4x2xui8>) -> tensor<4x2xui4>
//       CHECK:   %[[BITS:.*]] = stablehlo.bitcast_convert %[[NUMBER]] : (tensor<4x2xui4>) -> tensor<4x2xi4>
//       CHECK:   return %[[BITS]]
func.func @unpack(%x: tensor<4xui8>) -> tensor<4x2xi4> {
  %0 = stablehlo.bitcast_convert %x : (tensor<4xui8>) -> tensor<4x2xi4>
  return %0 : tensor<4x2xi4>
}

// CHECK-LABEL: func @pack
//       CHECK:   stablehlo.shift_left
//       CHECK:   %[[SUM:.*]] = stablehlo.reduce
//  CHECK-SAME:     -> tensor<4xui16>
//       CHECK:   stablehlo.bitcast_convert %[[SUM]] : (tensor<4xui16>) -> tensor<4xbf16>
func.func @pack(%x: tensor<4x8xui2>) -> tensor<4xbf16> {
  %0 = stablehlo.bitcast_convert %x : (tensor<4x8xui2>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

/// Equal widths, and whole bytes, are views of the same memory.

// CHECK-LABEL: func @negative_views
//  CHECK-NEXT:   stablehlo.bitcast_convert %arg0
//  CHECK-NEXT:   stablehlo.bitcast_convert %arg1
//  CHECK-NEXT:   return
func.func @negative_views(%x: tensor<4xui4>, %y: tensor<4xui16>) -> (tensor<4xi4>, tensor<4x2xui8>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<4xui4>) -> tensor<4xi4>
  %1 = stablehlo.bitcast_convert %y : (tensor<4xui16>) -> tensor<4x2xui8>
  return %0, %1 : tensor<4xi4>, tensor<4x2xui8>
}

/// A product in a higher kind of number converts its operands, one in a lower kind its result.

// CHECK-LABEL: func @products
//   CHECK-DAG:   %[[X:.*]] = stablehlo.convert %arg0 : (tensor<3x4xi8>) -> tensor<3x4xf32>
//   CHECK-DAG:   %[[Y:.*]] = stablehlo.convert %arg1 : (tensor<4x5xi8>) -> tensor<4x5xf32>
//       CHECK:   stablehlo.dot_general %[[X]], %[[Y]], {{.*}} -> tensor<3x5xf32>
//       CHECK:   %[[SUM:.*]] = stablehlo.dot_general %arg2, %arg3, {{.*}} -> tensor<3x5xbf16>
//       CHECK:   stablehlo.convert %[[SUM]] : (tensor<3x5xbf16>) -> tensor<3x5xi32>
func.func @products(%x: tensor<3x4xi8>, %y: tensor<4x5xi8>, %a: tensor<3x4xbf16>, %b: tensor<4x5xbf16>) -> (tensor<3x5xf32>, tensor<3x5xi32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xi8>, tensor<4x5xi8>) -> tensor<3x5xf32>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xbf16>, tensor<4x5xbf16>) -> tensor<3x5xi32>
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xi32>
}

/// What holds more of the same kind is the product's own business.

// CHECK-LABEL: func @negative_wider
//  CHECK-NEXT:   stablehlo.dot_general %arg0, %arg1
//  CHECK-NEXT:   return
func.func @negative_wider(%x: tensor<3x4xi8>, %y: tensor<4x5xi8>) -> tensor<3x5xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xi8>, tensor<4x5xi8>) -> tensor<3x5xi32>
  return %0 : tensor<3x5xi32>
}
