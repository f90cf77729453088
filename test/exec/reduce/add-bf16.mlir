/// 300 ones of bf16 sum to 300, although a running sum in bf16 would stop at 256.
// input: 300xbf16=1
// result: bf16=300
func.func @main(%a: tensor<300xbf16>) -> tensor<bf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<300xbf16>, tensor<bf16>) -> tensor<bf16>
  return %r : tensor<bf16>
}
