/// Every integer except zero is true, also an even one.
// input: 4xi32=0,256,-2147483648,2
// result: 4xi1=false,true,true,true
func.func @main(%a: tensor<4xi32>) -> tensor<4xi1> {
  %r = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}
