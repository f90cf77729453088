/// A double just above a tie of f16 rounds up, not first to the tie in f32.
// input: 3xf64=1.0004882812500002,1.00048828125,1.0014648437499998
// result: 3xf16=1.0009765625,1,1.0009765625
func.func @main(%a: tensor<3xf64>) -> tensor<3xf16> {
  %r = stablehlo.convert %a : (tensor<3xf64>) -> tensor<3xf16>
  return %r : tensor<3xf16>
}
