/// A sum.
// input: 4xcomplex<f32>=1+2i,-3+0.5i,0-1i,2+0i
// input: 4xcomplex<f32>=2-1i,1+1i,0+1i,-0.5+4i
// result: 4xcomplex<f32>=3+1i,-2+1.5i,0+0i,1.5+4i
func.func @main(%a: tensor<4xcomplex<f32>>, %b: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.add %a, %b : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
