/// A product of booleans is an or of ands.
// input: 2x2xi1=true,false,false,false
// input: 2x2xi1=true,true,true,false
// result: 2x2xi1=true,true,false,false
func.func @main(%a: tensor<2x2xi1>, %b: tensor<2x2xi1>) -> tensor<2x2xi1> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>
  return %r : tensor<2x2xi1>
}
