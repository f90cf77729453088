/// A loop whose count is an argument.
// input: 3xf32=1,2,3
// input: i32=5
// result: i32=5
// result: 3xf32=32,64,96
func.func @main(%a: tensor<3xf32>, %b: tensor<i32>) -> (tensor<i32>, tensor<3xf32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r0, %r1 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<3xf32>
  cond {
    %0 = stablehlo.compare LT, %i, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %0 = stablehlo.add %i, %one : tensor<i32>
    %1 = stablehlo.add %x, %x : tensor<3xf32>
    stablehlo.return %0, %1 : tensor<i32>, tensor<3xf32>
  }
  return %r0, %r1 : tensor<i32>, tensor<3xf32>
}
