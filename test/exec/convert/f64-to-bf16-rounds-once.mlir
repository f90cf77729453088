/// A double just above a tie of bf16 rounds up, not first to the tie in f32.
// input: 3xf64=1.0039062500000002,1.00390625,1.0117187499999998
// result: 3xbf16=1.0078125,1,1.0078125
func.func @main(%a: tensor<3xf64>) -> tensor<3xbf16> {
  %r = stablehlo.convert %a : (tensor<3xf64>) -> tensor<3xbf16>
  return %r : tensor<3xbf16>
}
