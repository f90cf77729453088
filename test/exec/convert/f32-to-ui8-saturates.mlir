/// Conversion to unsigned bytes saturates at zero and 255.
// input: 7xf32=255.9,256,-1,-0.5,nan,inf,200.7
// result: 7xui8=255,255,0,0,0,255,200
func.func @main(%a: tensor<7xf32>) -> tensor<7xui8> {
  %r = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xui8>
  return %r : tensor<7xui8>
}
