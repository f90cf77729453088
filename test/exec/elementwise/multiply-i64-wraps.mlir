/// A product of 64 bits keeps its low half.
// input: 4xi64=4294967296,-9223372036854775808,3037000500,-1
// input: 4xi64=4294967296,-1,3037000500,9223372036854775807
// result: 4xi64=0,-9223372036854775808,-9223372036709301616,-9223372036854775807
func.func @main(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
  %r = stablehlo.multiply %a, %b : tensor<4xi64>
  return %r : tensor<4xi64>
}
