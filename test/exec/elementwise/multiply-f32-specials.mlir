/// Zero times infinity is NaN; signs of zeros multiply.
// input: 5xf32=0,-0.0,inf,-1,1e38
// input: 5xf32=inf,5,-2,0,10
// result: 5xf32=nan,-0.0,-inf,-0.0,inf
func.func @main(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %r = stablehlo.multiply %a, %b : tensor<5xf32>
  return %r : tensor<5xf32>
}
