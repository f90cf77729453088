/// Widening is exact, also of NaN and infinity.
// input: 5xbf16=3.140625,-0.0,inf,nan,1e-39
// result: 5xf32=3.140625,-0.0,inf,nan,1.01019e-39
func.func @main(%a: tensor<5xbf16>) -> tensor<5xf32> {
  %r = stablehlo.convert %a : (tensor<5xbf16>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}
