/// A reversal of booleans.
// input: 5xi1=true,true,false,false,false
// result: 5xi1=false,false,false,true,true
func.func @main(%a: tensor<5xi1>) -> tensor<5xi1> {
  %r = stablehlo.reverse %a, dims = [0] : tensor<5xi1>
  return %r : tensor<5xi1>
}
