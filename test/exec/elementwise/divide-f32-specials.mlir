/// Division by zeros of both signs, and of infinities.
// input: 7xf32=1,1,-1,0,inf,1,1e-45
// input: 7xf32=0,-0.0,0,0,inf,inf,2
// result: 7xf32=inf,-inf,-inf,nan,nan,0,0
func.func @main(%a: tensor<7xf32>, %b: tensor<7xf32>) -> tensor<7xf32> {
  %r = stablehlo.divide %a, %b : tensor<7xf32>
  return %r : tensor<7xf32>
}
