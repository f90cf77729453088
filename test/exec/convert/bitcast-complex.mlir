/// The bytes of complex<f64> as two complex<f32>, alone and with an op of the same kernel, and back.
// input: 2xcomplex<f64>=1+2i,-2+1i
// result: 2x2xcomplex<f32>=0+1.875i,0+2i,0-2i,0+1.875i
// result: 2x2xcomplex<f32>=0+3.75i,0+4i,0-4i,0+3.75i
// result: 2xcomplex<f64>=1+2i,-2+1i
func.func @main(%a: tensor<2xcomplex<f64>>) -> (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>, tensor<2xcomplex<f64>>) {
  %parts = stablehlo.bitcast_convert %a : (tensor<2xcomplex<f64>>) -> tensor<2x2xcomplex<f32>>
  %twice = stablehlo.add %parts, %parts : tensor<2x2xcomplex<f32>>
  %whole = stablehlo.bitcast_convert %parts : (tensor<2x2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
  return %parts, %twice, %whole : tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>, tensor<2xcomplex<f64>>
}
