/// Exponentials of bf16 are rounded once to bf16.
// input: 8xbf16=0,1,-1,10,88,89,-inf,nan
// result: 8xbf16=1,2.71875,0.3671875,22016,1.6548888547522203e+38,inf,0,nan
// within: 1 ulps
func.func @main(%a: tensor<8xbf16>) -> tensor<8xbf16> {
  %r = stablehlo.exponential %a : tensor<8xbf16>
  return %r : tensor<8xbf16>
}
