/// A product with a result of bytes wraps around.
// input: 1x2xi8=100,100
// input: 2x1xi8=2,3
// result: 1x1xi8=-12
func.func @main(%a: tensor<1x2xi8>, %b: tensor<2x1xi8>) -> tensor<1x1xi8> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi8>
  return %r : tensor<1x1xi8>
}
