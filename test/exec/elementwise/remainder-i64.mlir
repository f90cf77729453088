/// Remainders of 64-bit integers, by zero and by -1.
// input: 8xi64=9223372036854775807,-9223372036854775808,7,-7,1000000007,-5,0,1
// input: 8xi64=-1,-1,0,4294967296,998244353,3,-1,-9223372036854775808
// result: 8xi64=0,0,7,-7,1755654,-2,0,1
func.func @main(%a: tensor<8xi64>, %b: tensor<8xi64>) -> tensor<8xi64> {
  %r = stablehlo.remainder %a, %b : tensor<8xi64>
  return %r : tensor<8xi64>
}
