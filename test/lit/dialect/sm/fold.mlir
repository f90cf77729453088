// RUN: tilewright-opt %s --canonicalize | FileCheck %s

#a = #sm.layout<[32 lane, 2 reg]>
#b = #sm.layout<[2 reg, 32 lane]>

/// There and back is nothing.

// CHECK-LABEL: func @back
//  CHECK-SAME:   (%[[X:.*]]: tensor
//  CHECK-NEXT:   return %[[X]]
func.func @back(%x: tensor<64xf32, #a>) -> tensor<64xf32, #a> {
  %y = sm.convert %x : tensor<64xf32, #a> -> tensor<64xf32, #b>
  %z = sm.convert %y : tensor<64xf32, #b> -> tensor<64xf32, #a>
  return %z : tensor<64xf32, #a>
}

/// One that changes something stays.

// CHECK-LABEL: func @negative_other
//       CHECK:   sm.convert
func.func @negative_other(%x: tensor<64xf32, #a>) -> tensor<64xf32, #b> {
  %y = sm.convert %x : tensor<64xf32, #a> -> tensor<64xf32, #b>
  return %y : tensor<64xf32, #b>
}
