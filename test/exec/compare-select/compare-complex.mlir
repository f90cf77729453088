/// Complex numbers are equal if both parts are.
// input: 3xcomplex<f32>=1+2i,1+2i,0+0i
// input: 3xcomplex<f32>=1+2i,1-2i,-0-0i
// result: 3xi1=true,false,true
func.func @main(%a: tensor<3xcomplex<f32>>, %b: tensor<3xcomplex<f32>>) -> tensor<3xi1> {
  %r = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  return %r : tensor<3xi1>
}
