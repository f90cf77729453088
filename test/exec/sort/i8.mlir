/// Bytes with their signs.
// input: 5xi8=3,-128,127,0,-1
// result: 5xi8=-128,-1,0,3,127
func.func @main(%a: tensor<5xi8>) -> tensor<5xi8> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i8>, %y: tensor<i8>):
    %0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<5xi8>) -> tensor<5xi8>
  return %r : tensor<5xi8>
}
