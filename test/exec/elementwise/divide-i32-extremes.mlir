/// Division truncates; by zero it gives -1, and the least integer over -1 is itself.
// input: 6xi32=7,-7,7,-7,5,-2147483648
// input: 6xi32=2,2,-2,-2,0,-1
// result: 6xi32=3,-3,-3,3,-1,-2147483648
func.func @main(%a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6xi32> {
  %r = stablehlo.divide %a, %b : tensor<6xi32>
  return %r : tensor<6xi32>
}
