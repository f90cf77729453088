/// A function that is called twice, the second time with its own result.
// input: 2xf32=1,2
// result: 2xf32=4,8
func.func private @twice(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @twice(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %r = func.call @twice(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
