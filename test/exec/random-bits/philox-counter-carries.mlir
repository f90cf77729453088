/// The counter of Philox carries from its low word to the high one; 64-bit results take two words each.
// input: 3xui64=81985529216486895,18446744073709551614,41
// result: 3xui64=81985529216486895,2,42
// result: 7xui64=7761465916041500350,1224484409882354241,10017991177431632800,14638500543619634738,4399261599156196171,2778172881687322863,18259377492987586843
func.func @main(%a: tensor<3xui64>) -> (tensor<3xui64>, tensor<7xui64>) {
  %r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<7xui64>)
  return %r0, %r1 : tensor<3xui64>, tensor<7xui64>
}
