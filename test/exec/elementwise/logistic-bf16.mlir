/// The logistic function of bf16.
// input: 6xbf16=0,1,-1,100,-100,nan
// result: 6xbf16=0.5,0.73046875,0.26953125,1,0,nan
// within: 1 ulps
func.func @main(%a: tensor<6xbf16>) -> tensor<6xbf16> {
  %r = stablehlo.logistic %a : tensor<6xbf16>
  return %r : tensor<6xbf16>
}
