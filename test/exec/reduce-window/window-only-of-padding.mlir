/// A window that lies in the padding gives the initial value.
// input: 2xi32=5,6
// result: 4xi32=-2147483648,5,6,-2147483648
func.func @main(%a: tensor<2xi32>) -> tensor<4xi32> {
  %z = stablehlo.constant dense<-2147483648> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.maximum %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
