/// If the lower bound is above the upper one, the upper one is the result.
// input: 4xi32=5,0,-3,9
// input: 4xi32=1,2,3,4
// input: 4xi32=2,10,-5,9
// result: 4xi32=2,2,-5,9
func.func @main(%a: tensor<4xi32>, %b: tensor<4xi32>, %c: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.clamp %a, %b, %c : tensor<4xi32>
  return %r : tensor<4xi32>
}
