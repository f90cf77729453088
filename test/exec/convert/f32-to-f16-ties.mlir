/// Ties round to even, 65520 overflows, and small numbers become subnormal.
// input: 8xf32=1.00048828125,1.00146484375,65519,65520,6e-8,2.9802322e-8,nan,-1e-10
// result: 8xf16=1,1.001953125,65504,inf,5.960464477539063e-08,0,nan,-0.0
func.func @main(%a: tensor<8xf32>) -> tensor<8xf16> {
  %r = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xf16>
  return %r : tensor<8xf16>
}
