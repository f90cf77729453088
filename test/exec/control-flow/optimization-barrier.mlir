/// A barrier passes its operands on.
// input: 2xf32=1,-0.0
// input: i32=3
// result: 2xf32=1,-0.0
// result: i32=3
func.func @main(%a: tensor<2xf32>, %b: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
  %r0, %r1 = stablehlo.optimization_barrier %a, %b : tensor<2xf32>, tensor<i32>
  return %r0, %r1 : tensor<2xf32>, tensor<i32>
}
