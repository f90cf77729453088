/// The type without infinity: what overflows is NaN, ties round to even.
// input: 8xf32=448,464,465,1.0625,1.1875,nan,0.001953125,0.0009765625
// result: 8xf8E4M3FN=448,448,nan,1,1.25,nan,0.001953125,0
func.func @main(%a: tensor<8xf32>) -> tensor<8xf8E4M3FN> {
  %r = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xf8E4M3FN>
  return %r : tensor<8xf8E4M3FN>
}
