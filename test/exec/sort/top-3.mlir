/// The largest three of each row with their indices; of equal elements, those with the lower indices.
// input: 2x6xf32=1,7,7,3,7,7,-1,-inf,-5,nan,-1,-2
// result: 2x3xf32=7,7,7,nan,-1,-1
// result: 2x3xi32=1,2,4,3,0,4
func.func @main(%a: tensor<2x6xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x6xi32>
  %r:2 = "stablehlo.sort"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %0 = stablehlo.compare GT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<2x6xf32>, tensor<2x6xi32>) -> (tensor<2x6xf32>, tensor<2x6xi32>)
  %0 = stablehlo.slice %r#0 [0:2, 0:3] : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.slice %r#1 [0:2, 0:3] : (tensor<2x6xi32>) -> tensor<2x3xi32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xi32>
}
