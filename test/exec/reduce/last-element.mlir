/// A body that is associative but not commutative returns its second argument.
// input: 4x37xi32=-9,-2,5,-7,0,7,-5,2,9,-3,4,-8,-1,6,-6,1,8,-4,3,-9,-2,5,-7,0,7,-5,2,9,-3,4,-8,-1,6,-6,1,8,-4,3,-9,-2,5,-7,0,7,-5,2,9,-3,4,-8,-1,6,-6,1,8,-4,3,-9,-2,5,-7,0,7,-5,2,9,-3,4,-8,-1,6,-6,1,8,-4,3,-9,-2,5,-7,0,7,-5,2,9,-3,4,-8,-1,6,-6,1,8,-4,3,-9,-2,5,-7,0,7,-5,2,9,-3,4,-8,-1,6,-6,1,8,-4,3,-9,-2,5,-7,0,7,-5,2,9,-3,4,-8,-1,6,-6,1,8,-4,3,-9,-2,5,-7,0,7,-5,2,9,-3,4,-8,-1,6,-6
// result: 4xi32=-4,8,1,-6
func.func @main(%a: tensor<4x37xi32>) -> tensor<4xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %y : tensor<i32>
  }) : (tensor<4x37xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
