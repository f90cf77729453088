/// Sums of bf16 round ties to even and overflow to infinity.
// input: 4xbf16=1,256,3.3895314e38,1
// input: 4xbf16=0.00390625,1,3.3895314e38,0.01171875
// result: 4xbf16=1,256,inf,1.015625
func.func @main(%a: tensor<4xbf16>, %b: tensor<4xbf16>) -> tensor<4xbf16> {
  %r = stablehlo.add %a, %b : tensor<4xbf16>
  return %r : tensor<4xbf16>
}
