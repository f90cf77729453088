/// The type without negative zero: -0 becomes 0, what overflows is NaN.
// input: 6xf32=-0.0,240,248,-inf,1.0625,0.0009765625
// result: 6xf8E4M3FNUZ=0,240,nan,nan,1,0.0009765625
func.func @main(%a: tensor<6xf32>) -> tensor<6xf8E4M3FNUZ> {
  %r = stablehlo.convert %a : (tensor<6xf32>) -> tensor<6xf8E4M3FNUZ>
  return %r : tensor<6xf8E4M3FNUZ>
}
