/// A splat of 4-bit integers.
// result: 5xi4=-3
func.func @main() -> tensor<5xi4> {
  %r = stablehlo.constant dense<-3> : tensor<5xi4>
  return %r : tensor<5xi4>
}
