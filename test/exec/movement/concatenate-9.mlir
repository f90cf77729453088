/// Nine operands.
// input: 1xi32=0
// input: 2xi32=1,2
// input: 3xi32=3,4,5
// input: 1xi32=6
// input: 2xi32=7,8
// input: 3xi32=9,10,11
// input: 1xi32=12
// input: 2xi32=13,14
// input: 3xi32=15,16,17
// result: 18xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
func.func @main(%a0: tensor<1xi32>, %a1: tensor<2xi32>, %a2: tensor<3xi32>, %a3: tensor<1xi32>, %a4: tensor<2xi32>, %a5: tensor<3xi32>, %a6: tensor<1xi32>, %a7: tensor<2xi32>, %a8: tensor<3xi32>) -> tensor<18xi32> {
  %r = stablehlo.concatenate %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, dim = 0 : (tensor<1xi32>, tensor<2xi32>, tensor<3xi32>, tensor<1xi32>, tensor<2xi32>, tensor<3xi32>, tensor<1xi32>, tensor<2xi32>, tensor<3xi32>) -> tensor<18xi32>
  return %r : tensor<18xi32>
}
