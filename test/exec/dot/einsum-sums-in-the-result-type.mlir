/// Sums over one operand's own dimensions are of the result's type, in which they do not wrap.
// input: 2x3xi8=100,100,100,-100,-100,-100
// input: 3x2xi8=1,2,100,100,1,2
// result: 2xi32=300,-300
// result: 2x2xi32=30600,31200,-30600,-31200
func.func @main(%a: tensor<2x3xi8>, %b: tensor<3x2xi8>) -> (tensor<2xi32>, tensor<2x2xi32>) {
  %0 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab->a"}> : (tensor<2x3xi8>) -> tensor<2xi32>
  %1 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,cd->ad"}> : (tensor<2x3xi8>, tensor<3x2xi8>) -> tensor<2x2xi32>
  return %0, %1 : tensor<2xi32>, tensor<2x2xi32>
}
