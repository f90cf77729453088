/// The complement of booleans is a boolean.
// input: 2xi1=true,false
// result: 2xi1=false,true
func.func @main(%a: tensor<2xi1>) -> tensor<2xi1> {
  %r = stablehlo.not %a : tensor<2xi1>
  return %r : tensor<2xi1>
}
