/// A loop that carries two 64-bit values and calls a function.
// input: i64=90
// result: i64=2880067194370816120
func.func private @next(%a: tensor<i64>, %b: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %0 = stablehlo.add %a, %b : tensor<i64>
  return %b, %0 : tensor<i64>, tensor<i64>
}
func.func @main(%a: tensor<i64>) -> tensor<i64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %n, %r, %last = stablehlo.while(%i = %zero, %x = %zero, %y = %one) : tensor<i64>, tensor<i64>, tensor<i64>
  cond {
    %0 = stablehlo.compare LT, %i, %a, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %0:2 = func.call @next(%x, %y) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %1 = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %1, %0#0, %0#1 : tensor<i64>, tensor<i64>, tensor<i64>
  }
  return %r : tensor<i64>
}
