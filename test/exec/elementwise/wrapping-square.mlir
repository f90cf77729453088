/// A square may be negative: compilers have taken abs(x * x) to be x * x.
// input: 3xi8=12,100,-128
// result: 3xi8=-112,16,0
// result: 3xi8=112,16,0
func.func @main(%a: tensor<3xi8>) -> (tensor<3xi8>, tensor<3xi8>) {
  %r0 = stablehlo.multiply %a, %a : tensor<3xi8>
  %r1 = stablehlo.abs %r0 : tensor<3xi8>
  return %r0, %r1 : tensor<3xi8>, tensor<3xi8>
}
