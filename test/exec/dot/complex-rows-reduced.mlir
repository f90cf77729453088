/// A product of complex matrices whose rows are summed, where matrix units take no part.
// input: 3x4xcomplex<f32>=2+1i,-3+0i,-2-2i,-2-2i,-2+1i,2+2i,3-3i,1-3i,-3+0i,-3-1i,-1+3i,0+0i
// input: 4x5xcomplex<f32>=-1+3i,0-1i,1-3i,1-1i,-2-3i,2+3i,2+1i,3+1i,2-2i,-2+0i,-1-2i,1+2i,1+0i,1-3i,3-2i,-1+1i,3+0i,-3-1i,-3-2i,3-3i
// result: 3xcomplex<f32>=-46-8i,-1-3i,-5+19i
// result: 3x5xcomplex<f32>=37+10i,37-9i,44+6i,37+27i,29-2i,-9+7i,16+5i,3+23i,-7+1i,1-24i,12-40i,-7-20i,-7-13i,2-6i,20+3i
func.func @main(%a: tensor<3x4xcomplex<f32>>, %b: tensor<4x5xcomplex<f32>>) -> (tensor<3xcomplex<f32>>, tensor<3x5xcomplex<f32>>) {
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %product = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xcomplex<f32>>, tensor<4x5xcomplex<f32>>) -> tensor<3x5xcomplex<f32>>
  %sums = stablehlo.reduce(%product init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x5xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
  %spread = stablehlo.broadcast_in_dim %sums, dims = [0] : (tensor<3xcomplex<f32>>) -> tensor<3x5xcomplex<f32>>
  %rest = stablehlo.subtract %product, %spread : tensor<3x5xcomplex<f32>>
  return %sums, %rest : tensor<3xcomplex<f32>>, tensor<3x5xcomplex<f32>>
}
