/// Doubles round once, overflow to infinity and underflow to subnormal numbers.
// input: 6xf64=1e39,-1e39,1e-45,1e-46,1.000000059604645,0.1
// result: 6xf32=inf,-inf,1e-45,0,1.0000001,0.1
func.func @main(%a: tensor<6xf64>) -> tensor<6xf32> {
  %r = stablehlo.convert %a : (tensor<6xf64>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}
