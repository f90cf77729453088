/// Halves, in descending order.
// input: 5xf16=1.5,-inf,65504,-2,inf
// result: 5xf16=inf,65504,1.5,-2,-inf
func.func @main(%a: tensor<5xf16>) -> tensor<5xf16> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    %0 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<5xf16>) -> tensor<5xf16>
  return %r : tensor<5xf16>
}
