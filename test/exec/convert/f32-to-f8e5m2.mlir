/// The type with infinity: ties round to even, what overflows is infinite.
// input: 10xf32=57344,61439,61440,1.125,1.375,nan,1.52587890625e-05,-inf,500,0.001
// result: 10xf8E5M2=57344,57344,inf,1,1.5,nan,1.52587890625e-05,-inf,512,0.0009765625
func.func @main(%a: tensor<10xf32>) -> tensor<10xf8E5M2> {
  %r = stablehlo.convert %a : (tensor<10xf32>) -> tensor<10xf8E5M2>
  return %r : tensor<10xf8E5M2>
}
