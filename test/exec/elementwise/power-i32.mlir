/// Integer powers wrap around; an exponent of zero gives one.
// input: 6xi32=3,-2,0,2,2,-3
// input: 6xi32=4,3,0,31,32,1
// result: 6xi32=81,-8,1,-2147483648,0,-3
func.func @main(%a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6xi32> {
  %r = stablehlo.power %a, %b : tensor<6xi32>
  return %r : tensor<6xi32>
}
