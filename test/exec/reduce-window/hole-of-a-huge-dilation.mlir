/// Windows whose elements are holes between two elements at a distance of 2^61.
// input: 2xi32=3,5
// result: 2xi32=3,0
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 1000000000000000001>, base_dilations = array<i64: 2305843009213693952>, window_dilations = array<i64: 600000000000000000>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
