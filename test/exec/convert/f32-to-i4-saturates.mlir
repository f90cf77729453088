/// Conversion to 4 bits saturates and truncates.
// input: 6xf32=7.9,8,-8.5,-100,nan,-1.5
// result: 6xi4=7,7,-8,-8,0,-1
func.func @main(%a: tensor<6xf32>) -> tensor<6xi4> {
  %r = stablehlo.convert %a : (tensor<6xf32>) -> tensor<6xi4>
  return %r : tensor<6xi4>
}
