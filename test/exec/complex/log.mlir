/// Logarithms, with the branch cut along the negative numbers.
// input: 4xcomplex<f32>=-1+0i,0+1i,1+0i,-3-4i
// result: 4xcomplex<f32>=0+3.1415927i,0+1.5707964i,0+0i,1.609438-2.2142975i
// within: 8 ulps
func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.log %a : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
