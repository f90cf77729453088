/// True is one, not minus one.
// input: 2xi1=true,false
// result: 2xi8=1,0
func.func @main(%a: tensor<2xi1>) -> tensor<2xi8> {
  %r = stablehlo.convert %a : (tensor<2xi1>) -> tensor<2xi8>
  return %r : tensor<2xi8>
}
