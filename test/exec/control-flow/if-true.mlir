/// The first branch.
// input: i1=true
// input: 2xf32=3,-4
// result: 2xf32=6,-8
func.func @main(%a: tensor<i1>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %r = "stablehlo.if"(%a) ({
    %0 = stablehlo.add %b, %b : tensor<2xf32>
    stablehlo.return %0 : tensor<2xf32>
  }, {
    %0 = stablehlo.multiply %b, %b : tensor<2xf32>
    stablehlo.return %0 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
