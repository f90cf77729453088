/// Leading zeros of zero are the width.
// input: 4xi16=0,-1,1,256
// result: 4xi16=16,0,15,7
func.func @main(%a: tensor<4xi16>) -> tensor<4xi16> {
  %r = stablehlo.count_leading_zeros %a : tensor<4xi16>
  return %r : tensor<4xi16>
}
