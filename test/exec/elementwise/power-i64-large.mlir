/// Powers of 64-bit integers wrap around, and a negative exponent gives zero unless the base is one or -1.
// input: 8xi64=2,3,-1,1,-1,2,-2,10
// input: 8xi64=63,40,-3,-5,-4,-1,-1,18
// result: 8xi64=-9223372036854775808,-6289078614652622815,-1,1,1,0,0,1000000000000000000
func.func @main(%a: tensor<8xi64>, %b: tensor<8xi64>) -> tensor<8xi64> {
  %r = stablehlo.power %a, %b : tensor<8xi64>
  return %r : tensor<8xi64>
}
