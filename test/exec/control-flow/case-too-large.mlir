/// An index beyond the end takes the last branch.
// input: i32=3
// input: 2xi32=10,20
// result: 2xi32=7
func.func @main(%a: tensor<i32>, %b: tensor<2xi32>) -> tensor<2xi32> {
  %r = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<2xi32>
  }, {
    %0 = stablehlo.negate %b : tensor<2xi32>
    stablehlo.return %0 : tensor<2xi32>
  }, {
    %0 = stablehlo.constant dense<7> : tensor<2xi32>
    stablehlo.return %0 : tensor<2xi32>
  }) : (tensor<i32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
