/// Unsigned comparison sees the top bit as a number.
// input: 3xui8=255,1,128
// input: 3xui8=1,255,127
// result: 3xi1=false,true,false
func.func @main(%a: tensor<3xui8>, %b: tensor<3xui8>) -> tensor<3xi1> {
  %r = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  return %r : tensor<3xi1>
}
