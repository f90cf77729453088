/// A sum in f16 within its range.
// input: 2x4xf16=1,2,3,4,0.5,0.25,-1,1024
// result: 2xf16=10,1023.75
// within: 1 ulps
func.func @main(%a: tensor<2x4xf16>) -> tensor<2xf16> {
  %z = stablehlo.constant dense<0.0> : tensor<f16>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf16>, tensor<f16>) -> tensor<2xf16>
  return %r : tensor<2xf16>
}
