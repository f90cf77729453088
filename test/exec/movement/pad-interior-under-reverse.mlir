/// Interior padding of what is reversed and padded.
// input: 5xi32=1,2,3,4,5
// input: i32=9
// input: i32=7
// result: 26xi32=7,9,7,9,7,5,7,9,7,9,7,4,7,9,7,9,7,3,7,9,7,9,7,2,7,9
func.func @main(%a: tensor<5xi32>, %b: tensor<i32>, %c: tensor<i32>) -> tensor<26xi32> {
  %p = stablehlo.pad %a, %b, low = [-1], high = [2], interior = [2] : (tensor<5xi32>, tensor<i32>) -> tensor<14xi32>
  %q = stablehlo.reverse %p, dims = [0] : tensor<14xi32>
  %r = stablehlo.pad %q, %c, low = [1], high = [-2], interior = [1] : (tensor<14xi32>, tensor<i32>) -> tensor<26xi32>
  return %r : tensor<26xi32>
}
