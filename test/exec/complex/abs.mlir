/// Absolute values, also of numbers whose squares overflow.
// input: 4xcomplex<f32>=3+4i,3e30+4e30i,0-0.5i,-inf+1i
// result: 4xf32=5,5e30,0.5,inf
// within: 4 ulps
func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %r = stablehlo.abs %a : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
