/// Only numbers are finite.
// input: 6xf32=0,3.4028235e38,inf,-inf,nan,1e-45
// result: 6xi1=true,true,false,false,false,true
func.func @main(%a: tensor<6xf32>) -> tensor<6xi1> {
  %r = stablehlo.is_finite %a : (tensor<6xf32>) -> tensor<6xi1>
  return %r : tensor<6xi1>
}
