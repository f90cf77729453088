/// The upper factor of complex numbers. Below the diagonal are zeros, not the conjugates of zeros, which have an imaginary part of -0.
// input: 2x2xcomplex<f32>=4+0i,2+2i,99+99i,11+0i
// result: 1x1xcomplex<f32>=0+0i
// result: 1x1xcomplex<f32>=1+1i
// result: 2x2xf32=2,1,0,3
func.func @main(%a: tensor<2x2xcomplex<f32>>) -> (tensor<1x1xcomplex<f32>>, tensor<1x1xcomplex<f32>>, tensor<2x2xf32>) {
  %0 = stablehlo.cholesky %a, lower = false : tensor<2x2xcomplex<f32>>
  %below = stablehlo.slice %0 [1:2, 0:1] : (tensor<2x2xcomplex<f32>>) -> tensor<1x1xcomplex<f32>>
  %above = stablehlo.slice %0 [0:1, 1:2] : (tensor<2x2xcomplex<f32>>) -> tensor<1x1xcomplex<f32>>
  %real = stablehlo.real %0 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  return %below, %above, %real : tensor<1x1xcomplex<f32>>, tensor<1x1xcomplex<f32>>, tensor<2x2xf32>
}
