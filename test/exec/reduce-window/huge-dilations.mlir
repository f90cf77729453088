/// Dilations near 2^62: both elements of a window are elements of the input, or one is beside the second.
// input: 2xi32=3,5
// result: 1xi32=8
// result: 1xi32=3
func.func @main(%a: tensor<2xi32>) -> (tensor<1xi32>, tensor<1xi32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 4611686018427387903>, window_dilations = array<i64: 4611686018427387903>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<1xi32>
  %r1 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 4611686018427387901>, window_dilations = array<i64: 4611686018427387900>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<1xi32>
  return %r0, %r1 : tensor<1xi32>, tensor<1xi32>
}
