/// A bitwise or.
// input: 3xi16=0,255,-32768
// input: 3xi16=4660,-256,32767
// result: 3xi16=4660,-1,-1
func.func @main(%a: tensor<3xi16>, %b: tensor<3xi16>) -> tensor<3xi16> {
  %r = stablehlo.or %a, %b : tensor<3xi16>
  return %r : tensor<3xi16>
}
