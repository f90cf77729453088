/// The total order puts -NaN first, -0 before 0, and NaN last.
// input: 6xf32=-0.0,0,nan,inf,-inf,1
// input: 6xf32=0,-0.0,inf,nan,-1,1
// result: 6xi1=true,false,false,true,true,false
func.func @main(%a: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<6xi1> {
  %r = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  return %r : tensor<6xi1>
}
