/// A 4-bit integer keeps the low bits.
// input: 5xi32=7,8,-9,15,16
// result: 5xi4=7,-8,7,-1,0
func.func @main(%a: tensor<5xi32>) -> tensor<5xi4> {
  %r = stablehlo.convert %a : (tensor<5xi32>) -> tensor<5xi4>
  return %r : tensor<5xi4>
}
