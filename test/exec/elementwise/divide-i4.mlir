/// Division of 4-bit integers by zero and by -1.
// input: 4xi4=-8,7,-7,-8
// input: 4xi4=-1,0,2,0
// result: 4xi4=-8,-1,-3,-1
func.func @main(%a: tensor<4xi4>, %b: tensor<4xi4>) -> tensor<4xi4> {
  %r = stablehlo.divide %a, %b : tensor<4xi4>
  return %r : tensor<4xi4>
}
