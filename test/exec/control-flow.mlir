/// Loops, branches, calls and tuples: Fibonacci by a loop that carries two values.

func.func private @next(%a: tensor<i64>, %b: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %0 = stablehlo.add %a, %b : tensor<i64>
  return %b, %0 : tensor<i64>, tensor<i64>
}

func.func @main() {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %limit = stablehlo.constant dense<90> : tensor<i64>
  %r:3 = "stablehlo.while"(%zero, %zero, %one) ({
  ^bb0(%i: tensor<i64>, %a: tensor<i64>, %b: tensor<i64>):
    %c = stablehlo.compare LT, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%i: tensor<i64>, %a: tensor<i64>, %b: tensor<i64>):
    %n:2 = func.call @next(%a, %b) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %n#0, %n#1 : tensor<i64>, tensor<i64>, tensor<i64>
  }) : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
  %expected = stablehlo.constant dense<2880067194370816120> : tensor<i64>
  stablehlo.custom_call @check.expect_eq(%r#1, %expected) {has_side_effect = true} : (tensor<i64>, tensor<i64>) -> ()
  return
}
