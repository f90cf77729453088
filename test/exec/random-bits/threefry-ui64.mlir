/// Threefry with 64-bit results and a key.
// input: 2xui64=81985529216486895,5
// result: 2xui64=81985529216486895,8
// result: 3xui64=9044622514639930014,11834170340226098994,2339419271594133015
func.func @main(%a: tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>) {
  %r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
  return %r0, %r1 : tensor<2xui64>, tensor<3xui64>
}
