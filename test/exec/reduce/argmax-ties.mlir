/// Value and index of the maximum as JAX writes it: of equal maxima the first.
// input: 4x5xf32=1,5,2,5,0,-1,-2,-3,-4,-5,inf,1,inf,2,3,2,2,2,2,2
// result: 4xf32=5,-1,inf,2
// result: 4xi32=1,0,0,0
func.func @main(%a: tensor<4x5xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %places = stablehlo.iota dim = 1 : tensor<4x5xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r0, %r1 = stablehlo.reduce(%a init: %low), (%places init: %zero) across dimensions = [1] : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %0 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.compare NE, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.or %0, %1 : tensor<i1>
      %3 = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %5 = stablehlo.and %3, %4 : tensor<i1>
      %6 = stablehlo.or %2, %5 : tensor<i1>
      %7 = stablehlo.select %2, %x, %y : tensor<i1>, tensor<f32>
      %8 = stablehlo.select %6, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
    }
  return %r0, %r1 : tensor<4xf32>, tensor<4xi32>
}
