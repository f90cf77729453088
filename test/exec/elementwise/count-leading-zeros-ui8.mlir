/// Leading zeros are counted from bit 7 of a byte.
// input: 4xui8=0,255,1,64
// result: 4xui8=8,0,7,1
func.func @main(%a: tensor<4xui8>) -> tensor<4xui8> {
  %r = stablehlo.count_leading_zeros %a : tensor<4xui8>
  return %r : tensor<4xui8>
}
