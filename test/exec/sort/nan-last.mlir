/// In the total order, NaN is last and -0 before 0.
// input: 6xf32=nan,1,0,-0.0,inf,-1
// result: 6xf32=-1,-0.0,0,1,inf,nan
func.func @main(%a: tensor<6xf32>) -> tensor<6xf32> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}
