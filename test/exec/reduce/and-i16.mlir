/// A bitwise and of integers.
// input: 2x3xi16=-1,255,15,7,11,13
// result: 2xi16=15,1
func.func @main(%a: tensor<2x3xi16>) -> tensor<2xi16> {
  %z = stablehlo.constant dense<-1> : tensor<i16>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.and across dimensions = [1] : (tensor<2x3xi16>, tensor<i16>) -> tensor<2xi16>
  return %r : tensor<2xi16>
}
