/// One predicate selects a whole tensor.
// input: i1=false
// input: 2x2xi8=1,2,3,4
// input: 2x2xi8=5,6,7,8
// result: 2x2xi8=5,6,7,8
func.func @main(%a: tensor<i1>, %b: tensor<2x2xi8>, %c: tensor<2x2xi8>) -> tensor<2x2xi8> {
  %r = stablehlo.select %a, %b, %c : (tensor<i1>, tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
  return %r : tensor<2x2xi8>
}
