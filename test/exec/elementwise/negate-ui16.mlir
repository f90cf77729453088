/// Unsigned negation wraps around.
// input: 3xui16=0,1,65535
// result: 3xui16=0,65535,1
func.func @main(%a: tensor<3xui16>) -> tensor<3xui16> {
  %r = stablehlo.negate %a : tensor<3xui16>
  return %r : tensor<3xui16>
}
