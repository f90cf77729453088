/// Interior padding that is larger than most tiles.
// input: 2xi32=5,6
// input: i32=0
// result: 64xi32=0,5,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,6,0
func.func @main(%a: tensor<2xi32>, %b: tensor<i32>) -> tensor<64xi32> {
  %r = stablehlo.pad %a, %b, low = [1], high = [1], interior = [60] : (tensor<2xi32>, tensor<i32>) -> tensor<64xi32>
  return %r : tensor<64xi32>
}
