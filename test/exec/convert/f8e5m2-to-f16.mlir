/// A short f16 becomes an f16.
// input: 5xf8E5M2=57344,1.52587890625e-05,inf,nan,-1.25
// result: 5xf16=57344,1.52587890625e-05,inf,nan,-1.25
func.func @main(%a: tensor<5xf8E5M2>) -> tensor<5xf16> {
  %r = stablehlo.convert %a : (tensor<5xf8E5M2>) -> tensor<5xf16>
  return %r : tensor<5xf16>
}
