/// Bits of floats seen as integers.
// input: 4xf32=1,-0.0,inf,1e-45
// result: 4xi32=1065353216,-2147483648,2139095040,1
func.func @main(%a: tensor<4xf32>) -> tensor<4xi32> {
  %r = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
