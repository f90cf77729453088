/// A value narrowed and widened again loses its low bits, also if the two conversions are fused.
// input: 3xf32=1.00390625,16777217,0.1
// result: 3xf32=1,16777216,0.10009765625
func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.convert %a : (tensor<3xf32>) -> tensor<3xbf16>
  %r = stablehlo.convert %0 : (tensor<3xbf16>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
