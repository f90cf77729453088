/// Two positions at a distance of 2^62 - 1. A GPU would store the dilated input.
// input: 2xi32=3,5
// result: 2xi32=3,5
// refused on vgpu: E4058
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1>, window_strides = array<i64: 4611686018427387903>, base_dilations = array<i64: 4611686018427387903>, window_dilations = array<i64: 4611686018427387902>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  return %r0 : tensor<2xi32>
}
