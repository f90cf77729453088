/// A sum of bytes wraps around.
// input: 5xi8=100,100,100,-128,1
// result: i8=-83
func.func @main(%a: tensor<5xi8>) -> tensor<i8> {
  %z = stablehlo.constant dense<0> : tensor<i8>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<5xi8>, tensor<i8>) -> tensor<i8>
  return %r : tensor<i8>
}
