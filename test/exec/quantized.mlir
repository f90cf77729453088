/// Quantized arithmetic is dequantize, compute, quantize; movement keeps the storage.

func.func @main() {
  %x = stablehlo.constant dense<[1.0, -2.0, 3.26, 100.0]> : tensor<4xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %sum = stablehlo.add %q, %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %back = stablehlo.reverse %sum, dims = [0] : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %y = stablehlo.uniform_dequantize %back : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
  // 100 / 0.5 + 3 saturates at 127, which means 62; twice that saturates again.
  %expected = stablehlo.constant dense<[62.0, 7.0, -4.0, 2.0]> : tensor<4xf32>
  stablehlo.custom_call @check.expect_eq(%y, %expected) {has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}
