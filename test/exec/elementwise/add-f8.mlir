/// A sum of 8-bit floats rounds to their three bits, and overflows to NaN.
// input: 4xf8E4M3FN=1,1.125,448,-0.0
// input: 4xf8E4M3FN=0.0625,0.0625,32,0
// result: 4xf8E4M3FN=1,1.25,nan,0
func.func @main(%a: tensor<4xf8E4M3FN>, %b: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %r = stablehlo.add %a, %b : tensor<4xf8E4M3FN>
  return %r : tensor<4xf8E4M3FN>
}
