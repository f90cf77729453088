/// The comparator of JAX makes both zeros equal, which keep their order, and all NaNs the largest.
// input: 7xbf16=0,nan,-0.0,-1,0,-0.0,-inf
// result: 7xbf16=-inf,-1,0,-0.0,0,-0.0,nan
func.func @main(%a: tensor<7xbf16>) -> tensor<7xbf16> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
    %zero = stablehlo.constant dense<0.0> : tensor<bf16>
    %nan = stablehlo.constant dense<0x7FC0> : tensor<bf16>
    %0 = stablehlo.compare EQ, %x, %zero, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %1 = stablehlo.select %0, %zero, %x : tensor<i1>, tensor<bf16>
    %2 = stablehlo.compare NE, %x, %x, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %3 = stablehlo.select %2, %nan, %1 : tensor<i1>, tensor<bf16>
    %4 = stablehlo.compare EQ, %y, %zero, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %5 = stablehlo.select %4, %zero, %y : tensor<i1>, tensor<bf16>
    %6 = stablehlo.compare NE, %y, %y, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %7 = stablehlo.select %6, %nan, %5 : tensor<i1>, tensor<bf16>
    %8 = stablehlo.compare LT, %3, %7, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %8 : tensor<i1>
  }) : (tensor<7xbf16>) -> tensor<7xbf16>
  return %r : tensor<7xbf16>
}
