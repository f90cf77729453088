/// Ties round to even.
// input: 8xf32=0.5,-0.5,1.5,2.5,0.49999997,-2.5,8388609,nan
// result: 8xf32=0,-0.0,2,2,0,-2,8388609,nan
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = stablehlo.round_nearest_even %a : tensor<8xf32>
  return %r : tensor<8xf32>
}
