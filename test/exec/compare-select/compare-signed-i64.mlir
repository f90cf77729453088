/// Signed comparison sees all 64 bits.
// input: 3xi64=-9223372036854775808,4294967296,-1
// input: 3xi64=9223372036854775807,1,0
// result: 3xi1=true,false,true
func.func @main(%a: tensor<3xi64>, %b: tensor<3xi64>) -> tensor<3xi1> {
  %r = stablehlo.compare LT, %a, %b, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
  return %r : tensor<3xi1>
}
