/// A 4-bit integer is extended by its sign.
// input: 5xi4=7,-8,-1,0,3
// result: 5xi32=7,-8,-1,0,3
func.func @main(%a: tensor<5xi4>) -> tensor<5xi32> {
  %r = stablehlo.convert %a : (tensor<5xi4>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}
