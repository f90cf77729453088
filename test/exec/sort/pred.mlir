/// False before true.
// input: 7xi1=true,false,true,true,false,true,false
// result: 7xi1=false,false,false,true,true,true,true
func.func @main(%a: tensor<7xi1>) -> tensor<7xi1> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i1>, %y: tensor<i1>):
    %0 = stablehlo.compare LT, %x, %y, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<7xi1>) -> tensor<7xi1>
  return %r : tensor<7xi1>
}
