/// An odd number of 32-bit results.
// input: 2xui64=42,0
// result: 2xui64=42,3
// result: 5xui32=3732534457,1332528664,646961260,4263843367,2234760234
func.func @main(%a: tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>) {
  %r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
  return %r0, %r1 : tensor<2xui64>, tensor<5xui32>
}
