/// Half precision overflows at 65520 and rounds ties to even.
// input: 4xf16=65504,-65504,2048,2048
// input: 4xf16=-16,15.9921875,-1,-3
// result: 4xf16=inf,-65504,2048,2052
func.func @main(%a: tensor<4xf16>, %b: tensor<4xf16>) -> tensor<4xf16> {
  %r = stablehlo.subtract %a, %b : tensor<4xf16>
  return %r : tensor<4xf16>
}
