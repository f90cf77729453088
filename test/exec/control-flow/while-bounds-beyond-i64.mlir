/// A loop that counts unsigned numbers above the largest i64.
// input: i32=1
// result: i32=32
// result: ui64=9223372036854775818
func.func @main(%x: tensor<i32>) -> (tensor<i32>, tensor<ui64>) {
  %begin = stablehlo.constant dense<9223372036854775808> : tensor<ui64>
  %end = stablehlo.constant dense<9223372036854775818> : tensor<ui64>
  %two = stablehlo.constant dense<2> : tensor<ui64>
  %r:2 = stablehlo.while(%i = %begin, %v = %x) : tensor<ui64>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %end : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %two : tensor<ui64>
    %twice = stablehlo.add %v, %v : tensor<i32>
    stablehlo.return %next, %twice : tensor<ui64>, tensor<i32>
  }
  return %r#1, %r#0 : tensor<i32>, tensor<ui64>
}
