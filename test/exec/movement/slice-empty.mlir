/// A slice from a place to the same place.
// input: 4xf32=1,2,3,4
// result: 0xf32=
func.func @main(%a: tensor<4xf32>) -> tensor<0xf32> {
  %r = stablehlo.slice %a [2:2] : (tensor<4xf32>) -> tensor<0xf32>
  return %r : tensor<0xf32>
}
