/// Shifts of 4-bit integers by the width or more.
// input: 5xi4=1,1,-8,7,1
// input: 5xi4=3,4,1,1,-1
// result: 5xi4=-8,0,0,-2,0
func.func @main(%a: tensor<5xi4>, %b: tensor<5xi4>) -> tensor<5xi4> {
  %r = stablehlo.shift_left %a, %b : tensor<5xi4>
  return %r : tensor<5xi4>
}
