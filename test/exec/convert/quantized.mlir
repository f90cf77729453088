/// Quantized sums saturate at 127, and movement keeps the storage.
// input: 4xf32=1,-2,3.26,100
// result: 4xf32=62,7,-4,2
// refused on cpu: E4004
// refused on vgpu: E4070
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %1 = stablehlo.add %0, %0 : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %2 = stablehlo.reverse %1, dims = [0] : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %r = stablehlo.uniform_dequantize %2 : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
