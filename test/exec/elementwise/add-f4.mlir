/// Sums of 4-bit floats saturate, and round once.
// input: 4xf32=0.3,1.25,5.1,-7
// result: 4xf32=1,2,6,-6
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf4E2M1FN>
  %1 = stablehlo.add %0, %0 : tensor<4xf4E2M1FN>
  %r = stablehlo.convert %1 : (tensor<4xf4E2M1FN>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
