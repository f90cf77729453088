/// An unsigned start above the largest signed number is beyond the end.
// input: 4xi32=1,2,3,4
// input: ui64=18446744073709551615
// result: 2xi32=3,4
func.func @main(%a: tensor<4xi32>, %b: tensor<ui64>) -> tensor<2xi32> {
  %r = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<4xi32>, tensor<ui64>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
