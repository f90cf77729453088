/// Hyperbolic tangents of f16.
// input: 8xf16=0,-0.0,1,-0.5,4,9,nan,6e-8
// result: 8xf16=0,-0.0,0.76171875,-0.462158203125,0.99951171875,1,nan,5.960464477539063e-08
// within: 1 ulps
func.func @main(%a: tensor<8xf16>) -> tensor<8xf16> {
  %r = stablehlo.tanh %a : tensor<8xf16>
  return %r : tensor<8xf16>
}
