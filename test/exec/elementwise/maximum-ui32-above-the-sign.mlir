/// Unsigned maxima compare the top bit as a number.
// input: 3xui32=4294967295,0,2147483648
// input: 3xui32=1,2147483648,2147483647
// result: 3xui32=4294967295,2147483648,2147483648
func.func @main(%a: tensor<3xui32>, %b: tensor<3xui32>) -> tensor<3xui32> {
  %r = stablehlo.maximum %a, %b : tensor<3xui32>
  return %r : tensor<3xui32>
}
