/// Neighbours along the longest dimension share a counter if no dimension has an even size.
// input: 2xui64=81985529216486895,7
// result: 2xui64=81985529216486895,16
// result: 3x5xi8=23,110,21,3,75,46,75,-65,13,-88,77,-17,29,-103,-48
func.func @main(%a: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xi8>) {
  %r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xi8>)
  return %r0, %r1 : tensor<2xui64>, tensor<3x5xi8>
}
