/// Counts of 16 bits whose low byte is small, and negative ones.
// input: 8xi16=1,1,1,1,-1,-1,3,7
// input: 8xi16=15,16,256,257,-1,-32768,0,32
// result: 8xi16=-32768,0,0,0,0,0,3,0
func.func @main(%a: tensor<8xi16>, %b: tensor<8xi16>) -> tensor<8xi16> {
  %r = stablehlo.shift_left %a, %b : tensor<8xi16>
  return %r : tensor<8xi16>
}
