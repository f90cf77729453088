/// A loop that swaps its two values each time: neither may overwrite the other.
// input: 2xi32=1,2
// input: 2xi32=3,4
// result: 2xi32=3,4
// result: 2xi32=1,2
func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %n, %r0, %r1 = stablehlo.while(%i = %zero, %x = %a, %y = %b) : tensor<i32>, tensor<2xi32>, tensor<2xi32>
  cond {
    %0 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %0 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %0, %y, %x : tensor<i32>, tensor<2xi32>, tensor<2xi32>
  }
  return %r0, %r1 : tensor<2xi32>, tensor<2xi32>
}
