/// The counter carries from its low half to the high one.
// input: 2xui64=7,4294967295
// result: 2xui64=7,4294967297
// result: 2xui64=11831370332435451475,9060598463857122945
func.func @main(%a: tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui64>) {
  %r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui64>)
  return %r0, %r1 : tensor<2xui64>, tensor<2xui64>
}
