// RUN: tilewright-opt %s --lower-custom-calls --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --nvptx-attach-target --lower-custom-calls --verify-gpu-ops --split-input-file

/// The runtime finds the handler by name. Tokens keep the order of effects.

// CHECK-LABEL: func @main
//       CHECK:   %[[START:.*]] = stablehlo.create_token
//       CHECK:   %[[Y:.*]]:2 = exec.custom_call "scale"(%{{.*}}, %[[START]])
//  CHECK-SAME:     api_version = 4 : i32, config = {by = 2 : i64}, has_side_effect
//       CHECK:   exec.custom_call "note"(%[[Y]]#1) {api_version = 4 : i32, config = {}, has_side_effect}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %y:2 = stablehlo.custom_call @scale(%x, %t) {api_version = 4 : i32, backend_config = {by = 2 : i64}, has_side_effect = true}
      : (tensor<8xf32>, !stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
  %u = stablehlo.custom_call @note(%y#1) {api_version = 4 : i32, has_side_effect = true} : (!stablehlo.token) -> !stablehlo.token
  return %y#0 : tensor<8xf32>
}

// -----

/// In loops, with results in place and other layouts.

// CHECK-LABEL: func @main
//       CHECK:   stablehlo.while
//       CHECK:     exec.custom_call "update"
//  CHECK-SAME:       aliases = array<i64: 0, 0>
//  CHECK-SAME:       operand_layouts = array<i64: 0, 1>
//  CHECK-SAME:       result_layouts = array<i64: 0, 1>
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %r = stablehlo.while(%v = %x) : tensor<4x2xf32>
    cond {
      stablehlo.return %true : tensor<i1>
    } do {
      %w = stablehlo.custom_call @update(%v) {
        api_version = 4 : i32, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>],
        output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]
      } : (tensor<4x2xf32>) -> tensor<4x2xf32>
      stablehlo.return %w : tensor<4x2xf32>
    }
  return %r : tensor<4x2xf32>
}

// -----

/// An annotation is nothing at run time.

// CHECK-LABEL: func @main
//  CHECK-NEXT:   return %arg0
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = stablehlo.custom_call @LayoutConstraint(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
