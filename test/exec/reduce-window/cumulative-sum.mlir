/// A window as long as the tensor with padding below is a running sum.
// input: 6xi32=1,2,3,4,5,-6
// result: 6xi32=1,3,6,10,15,9
func.func @main(%a: tensor<6xi32>) -> tensor<6xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<6xi32>, tensor<i32>) -> tensor<6xi32>
  return %r : tensor<6xi32>
}
