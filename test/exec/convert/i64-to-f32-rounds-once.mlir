/// 64-bit integers round once, not first to f64.
// input: 3xi64=9007199791611905,-9007199791611905,4611686293305294849
// result: 3xf32=9.0072e+15,-9.0072e+15,4.6116866e+18
func.func @main(%a: tensor<3xi64>) -> tensor<3xf32> {
  %r = stablehlo.convert %a : (tensor<3xi64>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
