/// A parity of bits.
// input: 4xi32=1,3,-1,7
// result: i32=-6
func.func @main(%a: tensor<4xi32>) -> tensor<i32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.xor across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}
