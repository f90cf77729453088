/// Padding at both ends and between elements.
// input: 3xi32=1,2,3
// result: 8xi32=9,9,1,9,2,9,3,9
func.func @main(%a: tensor<3xi32>) -> tensor<8xi32> {
  %z = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.pad %a, %z, low = [2], high = [1], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}
