/// Addition of booleans is a logical or.
// input: 4xi1=false,false,true,true
// input: 4xi1=false,true,false,true
// result: 4xi1=false,true,true,true
func.func @main(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  %r = stablehlo.add %a, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}
