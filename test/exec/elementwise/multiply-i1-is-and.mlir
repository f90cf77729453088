/// Multiplication of booleans is a logical and.
// input: 4xi1=false,false,true,true
// input: 4xi1=false,true,false,true
// result: 4xi1=false,false,false,true
func.func @main(%a: tensor<4xi1>, %b: tensor<4xi1>) -> tensor<4xi1> {
  %r = stablehlo.multiply %a, %b : tensor<4xi1>
  return %r : tensor<4xi1>
}
