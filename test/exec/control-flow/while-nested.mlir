/// A loop in a loop, with a count that depends on the outer one.
// input: i32=4
// result: i32=10
func.func @main(%a: tensor<i32>) -> tensor<i32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n, %r = stablehlo.while(%i = %zero, %x = %zero) : tensor<i32>, tensor<i32>
  cond {
    %0 = stablehlo.compare LT, %i, %a, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %k, %s = stablehlo.while(%j = %zero, %y = %x) : tensor<i32>, tensor<i32>
    cond {
      %0 = stablehlo.compare LE, %j, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    } do {
      %0 = stablehlo.add %j, %one : tensor<i32>
      %1 = stablehlo.add %y, %j : tensor<i32>
      stablehlo.return %0, %1 : tensor<i32>, tensor<i32>
    }
    %2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %2, %s : tensor<i32>, tensor<i32>
  }
  return %r : tensor<i32>
}
