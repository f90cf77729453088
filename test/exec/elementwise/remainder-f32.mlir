/// A remainder of floats has the sign of the dividend, also when it is zero.
// input: 8xf32=5.5,-5.5,5.5,-4,1,inf,1,4
// input: 8xf32=2,2,-2,2,inf,1,0,-2
// result: 8xf32=1.5,-1.5,1.5,-0.0,1,nan,nan,0
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %r = stablehlo.remainder %a, %b : tensor<8xf32>
  return %r : tensor<8xf32>
}
