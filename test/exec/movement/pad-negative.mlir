/// Negative padding cuts elements off, at one end only.
// input: 5xi32=1,2,3,4,5
// result: 4xi32=3,4,5,9
func.func @main(%a: tensor<5xi32>) -> tensor<4xi32> {
  %z = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.pad %a, %z, low = [-2], high = [1], interior = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
