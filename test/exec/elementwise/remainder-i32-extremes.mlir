/// A remainder has the sign of the dividend; by zero it is the dividend, by -1 zero.
// input: 7xi32=7,-7,7,-7,5,-2147483648,-2147483648
// input: 7xi32=3,3,-3,-3,0,-1,0
// result: 7xi32=1,-1,1,-1,5,0,-2147483648
func.func @main(%a: tensor<7xi32>, %b: tensor<7xi32>) -> tensor<7xi32> {
  %r = stablehlo.remainder %a, %b : tensor<7xi32>
  return %r : tensor<7xi32>
}
