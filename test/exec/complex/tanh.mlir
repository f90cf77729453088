/// Hyperbolic tangents.
// input: 4xcomplex<f32>=1+2i,-3+0.5i,0-1i,2+0i
// result: 4xcomplex<f32>=1.1667362-0.2434582i,-0.99731636+0.0041604266i,0-1.5574077i,0.9640276+0i
// within: 8 ulps
func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.tanh %a : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
