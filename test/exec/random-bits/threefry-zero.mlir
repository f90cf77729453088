/// Threefry of key and counter zero: the published vector 6b200159 99ba4efe.
// input: 2xui64=0,0
// result: 2xui64=0,1
// result: 2xui32=1797259609,2579123966
func.func @main(%a: tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>) {
  %r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  return %r0, %r1 : tensor<2xui64>, tensor<2xui32>
}
