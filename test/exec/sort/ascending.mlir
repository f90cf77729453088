/// Floats in ascending order.
// input: 7xf32=3,1,2,-5,inf,-inf,0
// result: 7xf32=-inf,-5,0,1,2,3,inf
func.func @main(%a: tensor<7xf32>) -> tensor<7xf32> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<7xf32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
}
