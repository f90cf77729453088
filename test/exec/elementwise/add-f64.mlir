/// Sums of f64: rounded once, overflow, subnormal numbers.
// input: 6xf64=0.1,1e308,1,5e-324,inf,-0.0
// input: 6xf64=0.2,1e308,3,5e-324,inf,0
// result: 6xf64=0.30000000000000004,inf,4,1e-323,inf,0
func.func @main(%a: tensor<6xf64>, %b: tensor<6xf64>) -> tensor<6xf64> {
  %r = stablehlo.add %a, %b : tensor<6xf64>
  return %r : tensor<6xf64>
}
