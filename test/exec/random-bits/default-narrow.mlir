/// The default is Philox; with a state of two words the key is the counter's high word. Narrow results take the low bits of a word.
// input: 2xui64=81985529216486895,5
// result: 2xui64=81985529216486895,8
// result: 3x3xui16=5165,16622,58208,28656,31550,35512,47810,34664,57757
func.func @main(%a: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x3xui16>) {
  %r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x3xui16>)
  return %r0, %r1 : tensor<2xui64>, tensor<3x3xui16>
}
