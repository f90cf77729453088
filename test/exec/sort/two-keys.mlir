/// The second key decides where the first ones are equal.
// input: 6xi32=2,1,2,1,2,1
// input: 6xf32=3,9,1,8,2,7
// result: 6xi32=1,1,1,2,2,2
// result: 6xf32=7,8,9,1,2,3
func.func @main(%a: tensor<6xi32>, %b: tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>) {
  %r0, %r1 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<f32>, %q: tensor<f32>):
    %0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = stablehlo.compare EQ, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.and %1, %2 : tensor<i1>
    %4 = stablehlo.or %0, %3 : tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) : (tensor<6xi32>, tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)
  return %r0, %r1 : tensor<6xi32>, tensor<6xf32>
}
