/// A negative byte is extended by its sign before it is taken as unsigned.
// input: 3xi8=-1,127,-128
// result: 3xui32=4294967295,127,4294967168
func.func @main(%a: tensor<3xi8>) -> tensor<3xui32> {
  %r = stablehlo.convert %a : (tensor<3xi8>) -> tensor<3xui32>
  return %r : tensor<3xui32>
}
