/// Gradients of a batch norm: for the operand they sum to zero.
// input: 2x2xf32=1,2,3,6
// input: 2xf32=2,1
// input: 2xf32=2,4
// input: 2xf32=1,4
// input: 2x2xf32=1,0,0,2
// result: 2x2xf32=0,0,0,0
// result: 2xf32=-1,2
// result: 2xf32=1,2
func.func @main(%a: tensor<2x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %r0, %r1, %r2 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %r0, %r1, %r2 : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
}
