/// bf16 in descending order.
// input: 5xbf16=1,-1,3,0.5,256
// result: 5xbf16=256,3,1,0.5,-1
func.func @main(%a: tensor<5xbf16>) -> tensor<5xbf16> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
    %0 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<5xbf16>) -> tensor<5xbf16>
  return %r : tensor<5xbf16>
}
