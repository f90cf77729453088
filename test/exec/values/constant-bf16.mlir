/// A constant of bf16.
// result: 3xbf16=1,0.10009765625,-3.00405527047391e+38
func.func @main() -> tensor<3xbf16> {
  %r = stablehlo.constant dense<[1.0, 0.1, -3.0e38]> : tensor<3xbf16>
  return %r : tensor<3xbf16>
}
