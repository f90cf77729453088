/// Products of 32 unsigned bits keep the low half.
// input: 4xui32=4294967295,65536,2147483649,3
// input: 4xui32=4294967295,65536,2,1431655766
// result: 4xui32=1,0,2,2
func.func @main(%a: tensor<4xui32>, %b: tensor<4xui32>) -> tensor<4xui32> {
  %r = stablehlo.multiply %a, %b : tensor<4xui32>
  return %r : tensor<4xui32>
}
