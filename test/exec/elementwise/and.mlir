/// A bitwise and.
// input: 3xi16=-1,255,-32768
// input: 3xi16=4660,-256,32767
// result: 3xi16=4660,0,0
func.func @main(%a: tensor<3xi16>, %b: tensor<3xi16>) -> tensor<3xi16> {
  %r = stablehlo.and %a, %b : tensor<3xi16>
  return %r : tensor<3xi16>
}
