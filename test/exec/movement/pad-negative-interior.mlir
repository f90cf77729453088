/// Negative padding counts after interior padding, so it may cut only padding.
// input: 3xi32=1,2,3
// result: 4xi32=9,9,2,9
func.func @main(%a: tensor<3xi32>) -> tensor<4xi32> {
  %z = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.pad %a, %z, low = [-1], high = [-2], interior = [2] : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
