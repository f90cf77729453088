/// Unsigned clamping compares the top bit as a number.
// input: ui8=100
// input: 4xui8=50,150,250,100
// input: ui8=200
// result: 4xui8=100,150,200,100
func.func @main(%a: tensor<ui8>, %b: tensor<4xui8>, %c: tensor<ui8>) -> tensor<4xui8> {
  %r = stablehlo.clamp %a, %b, %c : (tensor<ui8>, tensor<4xui8>, tensor<ui8>) -> tensor<4xui8>
  return %r : tensor<4xui8>
}
