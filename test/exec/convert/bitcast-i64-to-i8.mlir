/// A 64-bit integer seen as eight bytes, the low one first.
// input: 1xi64=72623859790382856
// result: 1x8xi8=8,7,6,5,4,3,2,1
func.func @main(%a: tensor<1xi64>) -> tensor<1x8xi8> {
  %r = stablehlo.bitcast_convert %a : (tensor<1xi64>) -> tensor<1x8xi8>
  return %r : tensor<1x8xi8>
}
