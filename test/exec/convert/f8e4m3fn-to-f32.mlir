/// Widening of 8-bit floats, with subnormal ones.
// input: 5xf8E4M3FN=448,0.001953125,-0.0,nan,-1.125
// result: 5xf32=448,0.001953125,-0.0,nan,-1.125
func.func @main(%a: tensor<5xf8E4M3FN>) -> tensor<5xf32> {
  %r = stablehlo.convert %a : (tensor<5xf8E4M3FN>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}
