/// Conversion to bytes saturates at -128 and 127 and truncates.
// input: 8xf32=127.9,128,300,-128.9,-129,nan,-inf,-1.5
// result: 8xi8=127,127,127,-128,-128,0,-128,-1
func.func @main(%a: tensor<8xf32>) -> tensor<8xi8> {
  %r = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xi8>
  return %r : tensor<8xi8>
}
