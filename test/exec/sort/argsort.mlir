/// The order of a key moves another operand.
// input: 8xf32=3,1,2,5,4,9,8,7
// result: 8xf32=1,2,3,4,5,7,8,9
// result: 8xi32=1,2,0,4,3,7,6,5
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %0 = stablehlo.iota dim = 0 : tensor<8xi32>
  %r0, %r1 = "stablehlo.sort"(%a, %0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %1 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %r0, %r1 : tensor<8xf32>, tensor<8xi32>
}
