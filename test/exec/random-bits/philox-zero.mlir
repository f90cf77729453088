/// Philox of key and counter zero: the published vector 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
// input: 3xui64=0,0,0
// result: 3xui64=0,1,0
// result: 4xui32=1713891541,3781805453,3159862348,2600524760
func.func @main(%a: tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>) {
  %r0, %r1 = stablehlo.rng_bit_generator %a, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return %r0, %r1 : tensor<3xui64>, tensor<4xui32>
}
