/// Numbers that are equal in f32.
// input: 3xf64=1.0000000000000002,1,0.9999999999999999
// result: 3xf64=0.9999999999999999,1,1.0000000000000002
func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %0 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<3xf64>) -> tensor<3xf64>
  return %r : tensor<3xf64>
}
