/// Powers.
// input: 4xcomplex<f32>=1+2i,-3+0.5i,0-1i,2+0i
// input: 4xcomplex<f32>=2-1i,1+1i,0+1i,-0.5+4i
// result: 4xcomplex<f32>=2.4284477+14.932415i,-0.09053611-0.12584803i,4.8104773+0i,-0.65950936+0.25504392i
// within: 32 ulps
func.func @main(%a: tensor<4xcomplex<f32>>, %b: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.power %a, %b : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
