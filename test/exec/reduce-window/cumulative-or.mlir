/// A running disjunction.
// input: 5xi1=false,false,true,false,true
// result: 5xi1=false,false,true,true,true
func.func @main(%a: tensor<5xi1>) -> tensor<5xi1> {
  %z = stablehlo.constant dense<false> : tensor<i1>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 5>, padding = dense<[[4, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<i1>, %y: tensor<i1>):
    %0 = stablehlo.or %x, %y : tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<5xi1>, tensor<i1>) -> tensor<5xi1>
  return %r : tensor<5xi1>
}
