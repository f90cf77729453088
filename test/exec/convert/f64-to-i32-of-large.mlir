/// Doubles that f32 could not hold truncate exactly.
// input: 4xf64=2147483647.9,-2147483648.9,16777217.5,-0.99
// result: 4xi32=2147483647,-2147483648,16777217,0
func.func @main(%a: tensor<4xf64>) -> tensor<4xi32> {
  %r = stablehlo.convert %a : (tensor<4xf64>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
