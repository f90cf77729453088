/// A reshape across dimensions that are padded, concatenated, cut and reversed.
// input: 2x3xi32=0,1,2,3,4,5
// input: i32=9
// result: 4x5xi32=-5,-4,-3,-9,-2,9,5,4,3,9,0,-9,-9,-9,-9,1,0,9,9,9
func.func @main(%a: tensor<2x3xi32>, %b: tensor<i32>) -> tensor<4x5xi32> {
  %p = stablehlo.pad %a, %b, low = [1, 0], high = [0, 1], interior = [0, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3x4xi32>
  %q = stablehlo.reshape %p : (tensor<3x4xi32>) -> tensor<2x6xi32>
  %n = stablehlo.negate %q : tensor<2x6xi32>
  %c = stablehlo.concatenate %q, %n, dim = 1 : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x12xi32>
  %s = stablehlo.slice %c [0:2, 1:11] : (tensor<2x12xi32>) -> tensor<2x10xi32>
  %t = stablehlo.reshape %s : (tensor<2x10xi32>) -> tensor<4x5xi32>
  %r = stablehlo.reverse %t, dims = [0, 1] : tensor<4x5xi32>
  return %r : tensor<4x5xi32>
}
