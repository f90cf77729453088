/// Square roots have a part that is not negative.
// input: 4xcomplex<f32>=-4+0i,0+2i,3-4i,0+0i
// result: 4xcomplex<f32>=0+2i,1+1i,2-1i,0+0i
// within: 4 ulps
func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.sqrt %a : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
