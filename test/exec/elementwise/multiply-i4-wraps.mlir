/// A product of 4 bits wraps around.
// input: 5xi4=7,-8,-8,3,5
// input: 5xi4=7,-1,-8,5,-3
// result: 5xi4=1,-8,0,-1,1
func.func @main(%a: tensor<5xi4>, %b: tensor<5xi4>) -> tensor<5xi4> {
  %r = stablehlo.multiply %a, %b : tensor<5xi4>
  return %r : tensor<5xi4>
}
