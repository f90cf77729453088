/// Two results of two operands that do not depend on each other.
// input: 2x3xf32=1,2,3,4,5,6
// input: 2x3xf32=1,2,3,4,5,6
// result: 2xf32=6,15
// result: 2xf32=6,120
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %r0, %r1 = stablehlo.reduce(%a init: %zero), (%b init: %one) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
    reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<f32>, %q: tensor<f32>) {
      %0 = stablehlo.add %x, %y : tensor<f32>
      %1 = stablehlo.multiply %p, %q : tensor<f32>
      stablehlo.return %0, %1 : tensor<f32>, tensor<f32>
    }
  return %r0, %r1 : tensor<2xf32>, tensor<2xf32>
}
