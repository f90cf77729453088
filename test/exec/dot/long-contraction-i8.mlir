/// A long contraction of integers, which GPUs split: 147456 products of 16129 are exact modulo 2^32.
// input: 3x147456xi8=127
// input: 147456x2xi8=127
// result: 3x2xi32=-1916649472
func.func @main(%a: tensor<3x147456xi8>, %b: tensor<147456x2xi8>) -> tensor<3x2xi32> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x147456xi8>, tensor<147456x2xi8>) -> tensor<3x2xi32>
  return %d : tensor<3x2xi32>
}
