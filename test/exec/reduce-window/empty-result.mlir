/// A window larger than the tensor has no place.
// input: 2xf32=1,2
// result: 0xf32=
func.func @main(%a: tensor<2xf32>) -> tensor<0xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<2xf32>, tensor<f32>) -> tensor<0xf32>
  return %r : tensor<0xf32>
}
