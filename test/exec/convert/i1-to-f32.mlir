/// True is one.
// input: 2xi1=true,false
// result: 2xf32=1,0
func.func @main(%a: tensor<2xi1>) -> tensor<2xf32> {
  %r = stablehlo.convert %a : (tensor<2xi1>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
