/// Windows of 9x9 that do not overlap.
// input: 18x9xi32=0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12,4,9,1,6,11,3,8,0,5,10,2,7,12
// result: 2x1xi32=483,489
func.func @main(%a: tensor<18x9xi32>) -> tensor<2x1xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 9, 9>, window_strides = array<i64: 9, 9>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<18x9xi32>, tensor<i32>) -> tensor<2x1xi32>
  return %r : tensor<2x1xi32>
}
