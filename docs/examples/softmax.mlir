// Softmax of a vector, as `tilewright run` takes it:
//   tilewright run docs/examples/softmax.mlir --input=4xf32=1,2,3,4
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %shift = stablehlo.broadcast_in_dim %max, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %centred = stablehlo.subtract %x, %shift : tensor<4xf32>
  %exp = stablehlo.exponential %centred : tensor<4xf32>
  %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %scale = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %result = stablehlo.divide %exp, %scale : tensor<4xf32>
  return %result : tensor<4xf32>
}
