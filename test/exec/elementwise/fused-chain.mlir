/// A chain of ops with two uses of a value is fused and still rounds each step.
// input: 4xf32=0.1,0.2,16777216,-3
// result: 4xf32=1,1,0,1
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %a, %a : tensor<4xf32>
  %1 = stablehlo.add %0, %a : tensor<4xf32>
  %2 = stablehlo.subtract %1, %0 : tensor<4xf32>
  %r = stablehlo.divide %2, %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
