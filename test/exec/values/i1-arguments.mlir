/// Booleans go in and out.
// input: 3x3xi1=true,false,false,false,true,false,false,false,true
// result: 3x3xi1=false,true,true,true,false,true,true,true,false
func.func @main(%a: tensor<3x3xi1>) -> tensor<3x3xi1> {
  %r = stablehlo.not %a : tensor<3x3xi1>
  return %r : tensor<3x3xi1>
}
