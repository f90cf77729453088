/// Ties round to even, and the largest numbers overflow to infinity.
// input: 7xf32=1.00390625,1.01171875,3.3961776e38,3.3895314e38,nan,1e-45,-0.0
// result: 7xbf16=1,1.015625,inf,3.3895313892515355e+38,nan,0,-0.0
func.func @main(%a: tensor<7xf32>) -> tensor<7xbf16> {
  %r = stablehlo.convert %a : (tensor<7xf32>) -> tensor<7xbf16>
  return %r : tensor<7xbf16>
}
