/// Unsigned bytes above 127 are large.
// input: 5xui8=200,1,127,128,0
// result: 5xui8=0,1,127,128,200
func.func @main(%a: tensor<5xui8>) -> tensor<5xui8> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<ui8>, %y: tensor<ui8>):
    %0 = stablehlo.compare LT, %x, %y, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<5xui8>) -> tensor<5xui8>
  return %r : tensor<5xui8>
}
