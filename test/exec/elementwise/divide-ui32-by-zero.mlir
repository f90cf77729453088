/// Unsigned division by zero gives all ones.
// input: 4xui32=7,0,4294967295,4294967295
// input: 4xui32=0,0,2,4294967295
// result: 4xui32=4294967295,4294967295,2147483647,1
func.func @main(%a: tensor<4xui32>, %b: tensor<4xui32>) -> tensor<4xui32> {
  %r = stablehlo.divide %a, %b : tensor<4xui32>
  return %r : tensor<4xui32>
}
