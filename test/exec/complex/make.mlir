/// Complex numbers from their parts, and the parts of them.
// input: 2xf32=1,-0.0
// input: 2xf32=inf,3
// result: 2xcomplex<f32>=1+infi,-0.0+3i
// result: 2xf32=1,-0.0
// result: 2xf32=inf,3
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>, tensor<2xf32>) {
  %r0 = stablehlo.complex %a, %b : tensor<2xcomplex<f32>>
  %r1 = stablehlo.real %r0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %r2 = stablehlo.imag %r0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %r0, %r1, %r2 : tensor<2xcomplex<f32>>, tensor<2xf32>, tensor<2xf32>
}
