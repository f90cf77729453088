/// Everything except zero is true, also NaN.
// input: 6xf32=0,-0.0,nan,1e-45,0.5,-inf
// result: 6xi1=false,false,true,true,true,true
func.func @main(%a: tensor<6xf32>) -> tensor<6xi1> {
  %r = stablehlo.convert %a : (tensor<6xf32>) -> tensor<6xi1>
  return %r : tensor<6xi1>
}
