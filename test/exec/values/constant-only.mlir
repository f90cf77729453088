/// A program without arguments.
// result: 2x2xf32=1.5,-0.0,inf,nan
func.func @main() -> tensor<2x2xf32> {
  %r = stablehlo.constant dense<[[1.5, -0.0], [0x7F800000, 0x7FC00000]]> : tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
