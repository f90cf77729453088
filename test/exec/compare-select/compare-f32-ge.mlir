/// GE of floats with NaN, zeros and infinities.
// input: 5xf32=1,nan,-0.0,inf,-inf
// input: 5xf32=1,nan,0,nan,-inf
// result: 5xi1=true,false,true,false,true
func.func @main(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xi1> {
  %r = stablehlo.compare GE, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}
